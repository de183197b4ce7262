#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file system that Linux mounts by FUSE: a program serves it, from a local disk or from another machine.
///
/// `statfs` gives the same number for all of them, so the list of mounts is read. Most programs name themselves in the
/// type (`fuse.sshfs`), and many name the other machine in the source (`ada@server:/home`, `https://server/`). Like all
/// network file systems, programs that serve files of other machines are refused. Either a sync does not reach the
/// other machine's disk, or locks and mappings do not work between the machines. An unknown program counts as local, as
/// an unknown file system does.
///
/// `virtiofs`, through which a virtual machine sees a folder of its host, counts as local. Its locks and mappings work
/// among the processes of the machine, and its syncs reach the host's disk.
struct FuseMount: Equatable {
    /// For example `fuse.sshfs`, `fuse`, `fuseblk` or `virtiofs`.
    var type: String
    /// What is mounted, as the program states it. Spaces are written as `\040`.
    var source: String

    /// The type, and the source if the type does not name the program.
    var name: String { type == "fuse" ? "fuse of \(source)" : type }

    var isNetwork: Bool {
        // Programs that omit the type put their names in the source.
        let program = type.hasPrefix("fuse.") ? type.dropFirst(5) : source[...]
        return FuseMount.servesOtherMachines(program) || namesOtherMachine
    }

    /// Whether the source is a URL, or a host and a path on it. A local path begins with a slash, so a list of local
    /// paths, as `mergerfs` uses, does not count.
    private var namesOtherMachine: Bool {
        guard !source.hasPrefix("/"), let colon = source.firstIndex(of: ":") else { return false }
        return source[source.index(after: colon)...].hasPrefix("/")
    }

    /// A switch and not a set, because a set would be a global that is initialised at its first use: see
    /// `SharedObject`.
    private static func servesOtherMachines(_ program: Substring) -> Bool {
        switch program {
        // File systems by SSH, FTP, WebDAV, NFS, SMB and AFP, and by a desktop's own protocols.
        case "sshfs", "curlftpfs", "davfs", "davfs2", "wdfs", "fuse-nfs", "smbnetfs", "fusesmb", "afpfs", "gvfsd-fuse",
            "kio-fuse":
            true
        // Object stores and other services.
        case "s3fs", "s3ql", "goofys", "mountpoint-s3", "mount-s3", "gcsfuse", "blobfuse", "blobfuse2", "rclone",
            "ossfs", "cosfs", "objectivefs", "google-drive-ocamlfuse":
            true
        // Distributed file systems.
        case "glusterfs", "ceph", "ceph-fuse", "juicefs", "JuiceFS", "seaweedfs", "mfs", "moosefs", "lizardfs",
            "saunafs", "fuse_dfs", "alluxio-fuse", "cubefs", "xtreemfs", "quobyte", "cvmfs2":
            true
        // Folders of a virtual machine's host. Syncs do not reach its disk.
        case "vmhgfs-fuse", "prl_fsd": true
        default: false
        }
    }

    /// The mount of a device, in a text in the form of `/proc/self/mountinfo`. Nil if it is not a FUSE mount.
    static func find(major: UInt32, minor: UInt32, in table: String) -> FuseMount? {
        let device = "\(major):\(minor)"
        for line in table.split(separator: "\n") {
            // A line has the mount's number, its parent's number, the device, the root, the path, options, and any
            // number of other fields. After a dash come the type, the source and more options.
            let fields = line.split(separator: " ", omittingEmptySubsequences: false)
            guard fields.count > 6, fields[2] == device, let dash = fields[6...].firstIndex(of: "-"),
                dash + 2 < fields.count
            else { continue }
            let type = fields[dash + 1]
            guard type == "fuse" || type == "fuseblk" || type.hasPrefix("fuse.") || type == "virtiofs" else { continue }
            return FuseMount(type: String(type), source: String(fields[dash + 2]))
        }
        return nil
    }

    /// The system's list of mounts; empty if it can't be read.
    static func table() -> String {
        let descriptor = systemOpen(AT_FDCWD, name: "/proc/self/mountinfo", flags: O_RDONLY)
        guard descriptor >= 0 else { return "" }
        defer { systemClose(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes { part in
                read(descriptor, part.baseAddress, part.count)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}

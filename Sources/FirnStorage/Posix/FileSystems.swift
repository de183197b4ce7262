/// The numbers by which Linux identifies file systems.
///
/// The list has local file systems, which may contain a store, and network file systems. Firn refuses the latter,
/// because locks and mappings do not work between machines.
enum FileSystems {
    struct Known {
        var name: String
        var isNetwork = false
    }

    /// The number that all file systems mounted by FUSE share.
    static var fuse: UInt32 { 0x6573_5546 }

    /// The numbers are from the manual page statfs(2) and the kernel's linux/magic.h. This is a switch and not a
    /// table, because a table would be a global that is initialised at its first use: see `SharedObject`.
    static func find(_ number: UInt32) -> Known? {
        switch number {
        // The number is shared with ext2 and ext3.
        case 0xEF53: Known(name: "ext4")
        case 0x5846_5342: Known(name: "xfs")
        case 0x9123_683E: Known(name: "btrfs")
        case 0x0102_1994: Known(name: "tmpfs")
        case 0x8584_58F6: Known(name: "ramfs")
        case 0x794C_7630: Known(name: "overlay")
        case 0x2FC1_2FC1: Known(name: "zfs")
        case 0xF2F5_2010: Known(name: "f2fs")
        case 0xCA45_1A4E: Known(name: "bcachefs")
        case 0x3153_464A: Known(name: "jfs")
        case 0x5265_4973: Known(name: "reiserfs")
        case 0x3434: Known(name: "nilfs")
        case 0x4D44: Known(name: "msdos")
        case 0x2011_BAB0: Known(name: "exfat")
        case 0x5346_544E: Known(name: "ntfs")
        case 0x7366_746E: Known(name: "ntfs3")
        case 0x4000_0000: Known(name: "hfs")
        case 0x482B: Known(name: "hfsplus")
        case 0x4253_584E: Known(name: "apfs")
        case 0x7371_7368: Known(name: "squashfs")
        case 0xF15F: Known(name: "ecryptfs")
        // FUSE may serve anything: see `FuseMount`.
        case fuse: Known(name: "fuse")
        case 0x6969: Known(name: "nfs", isNetwork: true)
        case 0xFF53_4D42: Known(name: "cifs", isNetwork: true)
        case 0xFE53_4D42: Known(name: "smb2", isNetwork: true)
        case 0x517B: Known(name: "smb", isNetwork: true)
        case 0x564C: Known(name: "ncp", isNetwork: true)
        case 0x5346_414F: Known(name: "afs", isNetwork: true)
        case 0x6B41_4653: Known(name: "kafs", isNetwork: true)
        case 0x7375_7245: Known(name: "coda", isNetwork: true)
        case 0x00C3_6400: Known(name: "ceph", isNetwork: true)
        case 0x0102_1997: Known(name: "9p", isNetwork: true)
        case 0x0BD0_0BD0: Known(name: "lustre", isNetwork: true)
        case 0x0116_1970: Known(name: "gfs2", isNetwork: true)
        case 0x7461_636F: Known(name: "ocfs2", isNetwork: true)
        case 0x4750_4653: Known(name: "gpfs", isNetwork: true)
        case 0x786F_4256: Known(name: "vboxsf", isNetwork: true)
        case 0xBACB_ACBC: Known(name: "vmhgfs", isNetwork: true)
        default: nil
        }
    }
}

/// Linux numbers its file systems. These are the ones that Firn may be put on, and those on other machines, which it must refuse, as
/// locks and mappings do not hold between machines.
enum FileSystems {
    struct Known {
        var number: UInt32
        var name: String
        var isNetwork = false
    }

    static func find(_ number: UInt32) -> Known? {
        known.first { $0.number == number }
    }

    // From the manual page statfs(2) and the kernel's linux/magic.h.
    static let known: [Known] = [
        // The number is shared with ext2 and ext3.
        Known(number: 0xEF53, name: "ext4"),
        Known(number: 0x5846_5342, name: "xfs"),
        Known(number: 0x9123_683E, name: "btrfs"),
        Known(number: 0x0102_1994, name: "tmpfs"),
        Known(number: 0x8584_58F6, name: "ramfs"),
        Known(number: 0x794C_7630, name: "overlay"),
        Known(number: 0x2FC1_2FC1, name: "zfs"),
        Known(number: 0xF2F5_2010, name: "f2fs"),
        Known(number: 0xCA45_1A4E, name: "bcachefs"),
        Known(number: 0x3153_464A, name: "jfs"),
        Known(number: 0x5265_4973, name: "reiserfs"),
        Known(number: 0x3434, name: "nilfs"),
        Known(number: 0x4D44, name: "msdos"),
        Known(number: 0x2011_BAB0, name: "exfat"),
        Known(number: 0x5346_544E, name: "ntfs"),
        Known(number: 0x7366_746E, name: "ntfs3"),
        Known(number: 0x4000_0000, name: "hfs"),
        Known(number: 0x482B, name: "hfsplus"),
        Known(number: 0x4253_584E, name: "apfs"),
        Known(number: 0x7371_7368, name: "squashfs"),
        Known(number: 0xF15F, name: "ecryptfs"),
        // What lies behind FUSE can't be told from outside; most of it is local.
        Known(number: 0x6573_5546, name: "fuse"),
        Known(number: 0x6969, name: "nfs", isNetwork: true),
        Known(number: 0xFF53_4D42, name: "cifs", isNetwork: true),
        Known(number: 0xFE53_4D42, name: "smb2", isNetwork: true),
        Known(number: 0x517B, name: "smb", isNetwork: true),
        Known(number: 0x564C, name: "ncp", isNetwork: true),
        Known(number: 0x5346_414F, name: "afs", isNetwork: true),
        Known(number: 0x6B41_4653, name: "kafs", isNetwork: true),
        Known(number: 0x7375_7245, name: "coda", isNetwork: true),
        Known(number: 0x00C3_6400, name: "ceph", isNetwork: true),
        Known(number: 0x0102_1997, name: "9p", isNetwork: true),
        Known(number: 0x0BD0_0BD0, name: "lustre", isNetwork: true),
        Known(number: 0x0116_1970, name: "gfs2", isNetwork: true),
        Known(number: 0x7461_636F, name: "ocfs2", isNetwork: true),
        Known(number: 0x4750_4653, name: "gpfs", isNetwork: true),
        Known(number: 0x786F_4256, name: "vboxsf", isNetwork: true),
        Known(number: 0xBACB_ACBC, name: "vmhgfs", isNetwork: true),
    ]
}

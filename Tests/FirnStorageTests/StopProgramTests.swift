import CFirn
import Testing

@testable import FirnStorage

/// Which functions on a stack are the program's, by their mangled names.
struct StopProgramTests {
    private func frame(_ mangled: String, _ path: String, _ line: Int) -> CallerLine.Frame {
        CallerLine.Frame(mangled: mangled, function: mangled, path: path, line: line)
    }

    /// From `stopProgram` on outwards, through a setter of Firn, one of them inlined with a relative path.
    private var inFirn: [CallerLine.Frame] {
        [
            frame("$s11FirnStorage11stopProgramys5NeverOSSF", "/code/firn/Sources/FirnStorage/StopProgram.swift", 20),
            frame("$s4Firn14_RealmInstanceC7writingyyF", "Sources/Firn/Realm/RealmInstance+Writing.swift", 181),
            frame("$s4Firn10ObjectBaseC3setyyF", "/code/firn/Sources/Firn/Model/Object/Object+Access.swift", 63),
        ]
    }

    @Test(arguments: [
        "$s6Kennel4mainyyYaKF", "main", "my_c_function",
        // Extensions of types of Firn's and of the standard library, with constraints, and a closure in one.
        "$s4Firn5RealmV6KennelE6addDogyyF", "$s4Firn7ResultsV6KennelAC3DogCRszrlE6firstsyyF", "$sSS6KennelE5shownSSvg",
        "$sSD6KennelSSRszrlE5shownSSvg", "$s4Firn5RealmV6KennelE6addDogyyFyycfU_",
    ]) func theInnermostLineOfTheProgramIsFound(mangled: String) {
        let caller = frame(mangled, "/code/kennel/Sources/Kennel/Dogs.swift", 12)
        let main = frame("main", "/code/kennel/Sources/Kennel/main.swift", 3)
        #expect(CallerLine.find(in: inFirn + [caller, main]) == caller)
        // Behind what the compiler made, what the standard library calls, and a package that calls back.
        let between = [
            frame("$s6Kennel3DogC3ageSivM", "", 0), frame("$s6Kennel3runyyFTA", "/<compiler-generated>", 0),
            frame("$sSa7forEachyyxKXEKF", "/<compiler-generated>", 0),
            frame("$s11OpenCombine4SinkC7receiveyyF", "/x/.build/checkouts/OpenCombine/Sources/Sink.swift", 9),
        ]
        #expect(CallerLine.find(in: inFirn + between + [caller, main]) == caller)
    }

    /// The line of its caller would accuse the wrong function. So it is named without a line, and without a file if
    /// that is unknown.
    @Test(arguments: ["$s6Kennel3runyyF", "main"]) func aFunctionOfTheProgramWithoutALineEndsTheSearch(mangled: String)
    {
        let outer = frame("$s6Kennel5startyyF", "/code/kennel/Sources/Kennel/main.swift", 3)
        for path in ["", "/<compiler-generated>"] {
            #expect(CallerLine.find(in: inFirn + [frame(mangled, path, 0), outer]) == frame(mangled, "", 0))
        }
        let withFile = frame(mangled, "/code/kennel/Sources/Kennel/Dogs.swift", 0)
        #expect(CallerLine.find(in: inFirn + [withFile, outer]) == withFile)
        #expect(
            CallerLine.find(in: inFirn) == nil && CallerLine.find(in: []) == nil && CallerLine.find(in: [outer]) == nil)
    }

    /// In code without frame pointers, a frame's word may be anything.
    @Test func framesAreFollowedWithinTheStackOnly() {
        withUnsafeTemporaryAllocation(of: UInt.self, capacity: 64) { words in
            words.initialize(repeating: 0)
            let start = UnsafeRawPointer(words.baseAddress!)
            func address(_ index: Int) -> UInt { UInt(bitPattern: start + index * 8) }
            func count(_ last: UInt, from first: Int = 0, limit: Int32 = 128) -> Int32 {
                (words[0], words[4], words[10]) = (address(4), address(10), last)
                return firn_frames_between(start + first * 8, start, start + 64 * 8, limit)
            }
            #expect(count(0) == 3 && count(1) == 3 && count(address(2)) == 3 && count(address(20)) == 4)
            for last in [0xE500_0000_0000_0065, address(12) + 1, address(63), address(64), .max] {
                #expect(count(last) == 3)
            }
            #expect(count(0, from: -2) == 0 && count(0, from: 63) == 0 && count(0, limit: 2) == 2)
        }
        #if os(Linux) && (arch(x86_64) || arch(arm64))
            #expect(firn_frame_count(128) > 2 && firn_frame_count(2) == 2)
        #endif
    }

    /// What the compiler makes of a key path, and libraries that call back, are passed over.
    @Test func theCallerOfAKeyPathAndOfAnEncoderIsFound() {
        let caller = frame("$s6Kennel3runyyF", "/code/kennel/Sources/Kennel/Dogs.swift", 12)
        let keyPath = frame("$s6Kennel3DogC4nameSSvpACTK", "/<compiler-generated>", 0)
        let encoder = frame("$s20FoundationEssentials11JSONEncoderC6encodey4DataVxKSERzlF", "", 0)
        let end = frame("$s6Kennel3DogC3ageSivM.resume.0", "/code/kennel/Sources/Kennel/Dogs.swift", 0)
        for between in [keyPath, encoder, end] { #expect(CallerLine.find(in: inFirn + [between, caller]) == caller) }
    }

    @Test(arguments: [
        ("enable=no", true), ("color=no,enable=off", true), ("enable=FALSE", true), ("enable=0", true),
        ("enable=n", true),
        ("enable=no,enable=yes", false), ("enable=yes,enable=no", true), ("", false), ("color=no", false),
        ("enable=tty", false), ("disable=no", false),
    ]) func theLastSettingTurnsItOff(settings: String, isOff: Bool) {
        #expect(CallerLine.isTurnedOff(settings) == isOff)
    }

    @Test(arguments: [
        "main", "$s6Kennel4mainyyYaKF", "$s6Kennel3DogC4name4FirnAC5RealmVSSvg", "$s11FirnKennels3runyyF",
        "$s6Kennel3runyyFyycfU_",
        // A function of the program that is specialised for a type of Firn's.
        "$s6Kennel4showyyxlF4Firn5RealmV_Tg5",
    ]) func functionsOfAModuleOfTheProgramAreItsOwn(mangled: String) {
        #expect(CallerLine.isCallers(mangled))
    }

    @Test(arguments: [
        "$s4Firn5RealmV5writeyyF", "$s8FirnCore5StoreC3pinAA3PinCyF", "$s11FirnStorage11stopProgramys5NeverOSSF",
        "$s10RealmSwift0A3SetyyF", "$sSS4FirnE5shownSSvg", "$sSa4FirnE5shownSSvg",
        // The standard library's functions, also where they are specialised for a type of the program.
        "$sSa6appendyyxnF6Kennel3DogC_Tg5", "$ss5print_9separatoryypd_SSF", "$sSTsE3mapySayqd__Gqd__7ElementQzKXEKlF",
        "swift_retain", "firn_read", "_start", "", "$s", "$s0", "$s99Kennel", "$s99999999999999999999Kennel", "$sS",
        "$sSé3E",
    ]) func otherFunctionsAreNot(mangled: String) {
        #expect(!CallerLine.isCallers(mangled))
    }
}

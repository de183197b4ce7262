import Testing

@testable import FirnStorage

/// Which functions on a stack are the program's, by their mangled names.
struct StopProgramTests {
    @Test(arguments: [
        "main", "$s6Kennel4mainyyYaKF", "$s6Kennel3DogC4name4FirnAC5RealmVSSvg", "$s11FirnKennels3runyyF",
        // Extensions of String and Array, and a closure.
        "$sSS6KennelE5shownSSvg", "$sSa6KennelE5shownSSvg", "$s6Kennel3runyyFyycfU_",
        // A function of the program that is specialised for a type of Firn's.
        "$s6Kennel4showyyxlF4Firn5RealmV_Tg5",
    ]) func theProgramsFunctionsAreFound(mangled: String) {
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

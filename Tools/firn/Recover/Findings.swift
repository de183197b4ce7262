/// What is wrong with files, each finding once. Forged files may have any number of them, so the first 10,000 count.
struct Findings {
    private(set) var all: [Finding] = []

    mutating func add(_ finding: Finding) {
        if all.count < 10_000, !all.contains(finding) { all.append(finding) }
    }
}

/// What is wrong with files, each finding once. Forged files may have any number of findings, so only 10,000 are kept.
struct Findings {
    private(set) var all: [Finding] = []

    mutating func add(_ finding: Finding) {
        if all.count < 10_000, !all.contains(finding) { all.append(finding) }
    }
}

import Foundation

/// The report in Markdown: one table for each workload, medians over the rounds.
struct Report {
    var harness: Harness
    var samples: [Sample]
    var note: String

    func markdown() -> String {
        var lines = introduction()
        for workload in harness.workloads { lines += section(workload) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func introduction() -> [String] {
        var lines = [
            "# Firn measured", "",
            "\(Machine.line(folder: harness.folder))\(note.isEmpty ? "" : " \(note).") \(Machine.today()).", "",
            "N = \(Figure.text(Double(harness.objects))); \(harness.runs) runs, interleaved, the engines' "
                + "order rotated; each sample in a process of its own. Figures are medians with the minimum and the "
                + "maximum. × SQLite and × LMDB are medians of the ratios within one run, above 1 if the engine "
                + "of the row is better. Absolute figures drift between machines and hours: quote the ratios.",
            "",
        ]
        if harness.quick {
            lines += [
                "**Quick run:** small N and few repetitions. It shows that everything works; verdicts need a full run.",
                "",
            ]
        }
        lines += ["How the comparison is kept fair:", ""]
        lines += harness.engines.map { "- **\($0.rawValue)**: \($0.type.note)" }
        lines += [
            "- Input is generated before anything is timed, as bytes for C interfaces and as strings for "
                + "Swift's. Every read result goes into a checksum, which `firn-bench check` compares between "
                + "engines.",
            "- On a file system without a journal a sync is cheap; with one it costs more, and the number "
                + "of syncs is the portable figure.",
            "- Sizes are allocated blocks, including unlinked files that are still open. Peak memory is the "
                + "process's peak minus what was resident before the timed part; pages of a mapped file count.", "",
        ]
        return lines
    }

    private func section(_ workload: Workload) -> [String] {
        var lines = ["## \(workload.id): \(workload.title)", "", workload.details, ""]
        lines += [
            "| metric | engine | median | min – max | × SQLite | × LMDB | must reach |",
            "| --- | --- | ---: | --- | ---: | ---: | --- |",
        ]
        for metric in workload.metrics {
            for engine in harness.engines {
                let values = self.values(metric, workload, engine)
                guard !values.isEmpty else { continue }
                lines.append(
                    "| \(metric.name) | \(engine.rawValue) | \(Figure.text(values.median)) | "
                        + "\(Figure.text(values.min()!)) – \(Figure.text(values.max()!)) | "
                        + "\(ratioText(metric, workload, engine, .sqlite)) | "
                        + "\(ratioText(metric, workload, engine, .lmdb)) | \(verdicts(metric, workload, engine)) |")
            }
        }
        if !workload.metrics.contains(where: { $0.name == Metric.peak.name }) {
            let peaks = harness.engines.compactMap { engine -> String? in
                let values = self.values(.peak, workload, engine)
                return values.isEmpty ? nil : "\(engine.rawValue) \(Figure.text(values.median))"
            }
            lines += ["", "Peak memory, MiB: " + peaks.joined(separator: ", ") + "."]
        }
        for engine in harness.engines {
            let mine = samples.filter { $0.workload == workload.id && $0.engine == engine }
            if mine.contains(where: \.isUnsupported) { lines += ["", "\(engine.rawValue): has no such operation."] }
            for error in Set(mine.compactMap(\.error)) { lines += ["", "**\(engine.rawValue) FAILED: \(error)**"] }
        }
        return lines + [""]
    }

    private func values(_ metric: Metric, _ workload: Workload, _ engine: EngineName) -> [Double] {
        samples.filter { $0.workload == workload.id && $0.engine == engine }.compactMap { $0.metrics[metric.name] }
    }

    /// How many times better than the rival, as the median over the rounds; nil if one of them has no figure.
    private func ratio(_ metric: Metric, _ workload: Workload, _ engine: EngineName, _ rival: EngineName) -> Double? {
        guard metric.better != .neither, !metric.isQuotient, engine != rival else { return nil }
        var ratios: [Double] = []
        for round in 0..<harness.runs {
            func value(_ name: EngineName) -> Double? {
                samples.first { $0.workload == workload.id && $0.round == round && $0.engine == name }?
                    .metrics[metric.name]
            }
            guard let mine = value(engine), let other = value(rival), mine > 0, other > 0 else { continue }
            ratios.append(metric.better == .higher ? mine / other : other / mine)
        }
        return ratios.isEmpty ? nil : ratios.median
    }

    private func ratioText(
        _ metric: Metric, _ workload: Workload, _ engine: EngineName, _ rival: EngineName
    ) -> String {
        ratio(metric, workload, engine, rival).map(Figure.text) ?? ""
    }

    private func verdicts(_ metric: Metric, _ workload: Workload, _ engine: EngineName) -> String {
        let targets = workload.targets.filter { $0.metric == metric.name && $0.engine == engine }
        return targets.map { verdict($0, metric, workload, engine) }.joined(separator: "; ")
    }

    private func verdict(
        _ target: Target, _ metric: Metric, _ workload: Workload, _ engine: EngineName
    ) -> String {
        func timesRival(_ limit: Double, _ rival: EngineName, _ source: String) -> String? {
            ratio(metric, workload, engine, rival).map {
                "≥ \(Figure.text(limit)) × \(rival.rawValue) (\(source)): \(answer($0 >= limit))"
            }
        }
        if let rival = target.rival { return timesRival(target.limit, rival, target.source) ?? "no \(rival.rawValue)" }
        let value = values(metric, workload, engine).median
        let isHigher = metric.better == .higher
        let isMet = isHigher ? value >= target.limit : value <= target.limit
        var text = "\(isHigher ? "≥" : "≤") \(Figure.text(target.limit)) (\(target.source)): \(answer(isMet))"
        if let then = target.sqliteThen,
            let times = timesRival(isHigher ? target.limit / then : then / target.limit, .sqlite, "its ratio there")
        {
            text += ", " + times
        }
        return text
    }

    private func answer(_ isMet: Bool) -> String { isMet ? "yes" : "**NO**" }
}

import FirnStorage

extension Snapshot {
    /// Checks everything that must hold within a version. Stops the program with a message if something is broken.
    /// O(objects).
    package func _checkInvariants() { checkInvariants { _ in } }

    /// Checks the invariants, and calls `visit` with every node that the version reaches.
    func checkInvariants(visit: (Node) -> Void) {
        let rootNode = RootNode(root)
        visit(root)
        for id in resolvedSchema.tables.indices.map(TableID.init) where id.index < rootNode.tableCount {
            let word = rootNode.slot(id.index).pointee
            guard word != 0 else { continue }
            let layout = resolvedSchema.tables[id.index]
            precondition(!layout.schema.isRemoved, "Firn: the removed table \(layout.schema.name) has a node")
            check(TableView(word: word, layout: layout), layout: layout, visit)
        }
    }

    private func check(_ view: TableView, layout: TableLayout, _ visit: (Node) -> Void) {
        guard let node = view.node else { return }
        visit(node.node)
        precondition(
            node.columnCount == layout.columns.count,
            "Firn: \(layout.schema.name) has a node of \(node.columnCount) columns")
        RowTree.checkInvariants(
            view.rows, rowCount: node.rowCount, nextKey: node.nextKey, columns: layout.columns, visit: visit)
        for column in layout.columns.indices where !layout.columns[column].isRemoved {
            checkIndex(view, layout: layout, column: column, visit)
            checkBacklinks(view, layout: layout, column: column, visit)
        }
    }

    /// Checks that an index contains every row once, under the row's value.
    private func checkIndex(_ view: TableView, layout: TableLayout, column: Int, _ visit: (Node) -> Void) {
        let schema = layout.columns[column]
        let root = view.index(column)
        guard schema.isIndexed || layout.primaryKey == column else {
            precondition(root.isNone, "Firn: \(layout.schema.name).\(schema.name) has an index, but is not indexed")
            return
        }
        ColumnIndex.checkInvariants(schema, root)
        ColumnIndex.forEachNode(schema, root: root, visit)
        precondition(
            ColumnIndex.count(schema, root) == view.count,
            "Firn: the index of \(layout.schema.name).\(schema.name) has \(ColumnIndex.count(schema, root)) entries for \(view.count) objects"
        )
        view.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                precondition(
                    ColumnIndex.contains(schema, chunk: leaf.chunk(column), row: row, key: leaf.key(row), in: root),
                    "Firn: the index of \(layout.schema.name).\(schema.name) lacks object \(leaf.key(row))")
            }
            return true
        }
    }

    /// Checks that the backlinks are the reversed links, and that every target exists.
    private func checkBacklinks(_ view: TableView, layout: TableLayout, column: Int, _ visit: (Node) -> Void) {
        let schema = layout.columns[column]
        let root = view.backlinks(column)
        if schema.type == .mixed { return checkMixedBacklinks(view, layout: layout, column: column, visit) }
        guard schema.isLink, let target = schema.target else {
            precondition(root.isNone, "Firn: \(layout.schema.name).\(schema.name) has backlinks, but no links")
            return
        }
        precondition(
            (try? IntegerIndexTree.checkInvariants(root)) != nil,
            "Firn: the backlinks of \(layout.schema.name).\(schema.name) are broken")
        IntegerIndexTree.forEachNode(root, visit)
        let targets = table(target)
        var links = 0
        view.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                for link in self.links(view, schema: schema, column: column, leaf: leaf, row: row) {
                    links += 1
                    precondition(
                        targets.find(link) != nil,
                        "Firn: \(layout.schema.name).\(schema.name) of \(leaf.key(row)) links to \(link), which does not exist"
                    )
                    precondition(
                        IntegerIndexTree.contains(UInt64(link), leaf.key(row), in: root),
                        "Firn: the backlink from \(leaf.key(row)) to \(link) is missing")
                }
            }
            return true
        }
        precondition(
            IntegerIndexTree.count(in: root) == links,
            "Firn: \(IntegerIndexTree.count(in: root)) backlinks for \(links) links of \(layout.schema.name).\(schema.name)"
        )
    }

    /// Checks that the backlinks of mixed values are the reversed links, and that every target exists.
    private func checkMixedBacklinks(
        _ view: TableView, layout: TableLayout, column: Int, _ visit: (Node) -> Void
    ) {
        let name = "\(layout.schema.name).\(layout.columns[column].name)"
        let root = view.backlinks(column)
        precondition(
            (try? IntegerIndexTree.checkInvariants(root)) != nil, "Firn: the backlinks of \(name) are broken")
        IntegerIndexTree.forEachNode(root, visit)
        var links = 0
        view.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                MixedLinks.forEach(in: view.value(column, leaf: leaf, row: row)) { table, key in
                    links += 1
                    precondition(
                        self.table(table).find(key) != nil, "Firn: \(name) links to \(key), which does not exist")
                    precondition(
                        IntegerIndexTree.contains(MixedLinks.backlinkKey(table, key), leaf.key(row), in: root),
                        "Firn: the backlink from \(leaf.key(row)) to \(key) is missing")
                }
            }
            return true
        }
        precondition(
            IntegerIndexTree.count(in: root) == links,
            "Firn: \(IntegerIndexTree.count(in: root)) backlinks for \(links) links of \(name)")
    }

    private func links(_ view: TableView, schema: ColumnSchema, column: Int, leaf: Leaf, row: Int) -> [Int64] {
        guard schema.collection != .none else {
            let link: Int64 = leaf.chunk(column).load(row)
            return link < 0 ? [] : [link]
        }
        return view.list(column, leaf: leaf, row: row).values.compactMap { value in
            if case .link(let link) = value, link >= 0 { return link }
            return nil
        }
    }
}

#if DEBUG
    extension Store {
        /// Whether each new version is checked. Set by the environment variable `FIRN_INVARIANTS`, for one run of the
        /// tests (`Tools/soak`).
        static let checksInvariants = hasEnvironmentVariable("FIRN_INVARIANTS")

        /// Checks the newest version, unless a file is damaged. Called with the write lock held. O(objects).
        func checkTip() {
            let tip = versions.pinForStore(.tip)
            var record = DamageRecord()
            withUnsafeMutablePointer(to: &record) { record in
                // The error that `verify` throws is in the record.
                DamageRecord.with(record) { _ = Result { () throws(StoreError) in try tip.snapshot.verify() } }
            }
            if record.met?.damage == nil { tip.snapshot._checkInvariants() }
            withExtendedLifetime(tip) {}
        }
    }
#endif

extension Store {
    /// Checks every active version. Checks also that the live nodes are exactly the nodes that active versions reach,
    /// and that each dead node is on the right dead list. Must be called while no transaction runs. O(objects × active
    /// versions).
    package func _checkInvariants() {
        versions.checkCounts()
        versions.withEntries { entries, dead in
            var reached: [Set<UInt64>] = []
            for entry in entries {
                var nodes = Set<UInt64>()
                entry.snapshot.checkInvariants { node in
                    precondition(
                        node.stamp <= entry.stamp,
                        "Firn: version \(entry.version) reaches a node of stamp \(node.stamp)")
                    // On-disk nodes are neither counted nor freed.
                    if node.isOnDisk { return }
                    precondition(
                        nodes.insert(NodeRef(node).word).inserted, "Firn: version \(entry.version) reaches a node twice"
                    )
                }
                reached.append(nodes)
                entry.mapping?.checkAlive(entry.snapshot, at: entry.stamp)
            }
            let all = reached.reduce(into: Set<UInt64>()) { $0.formUnion($1) }
            precondition(
                all.count == heap.nodeCount, "Firn: \(heap.nodeCount) nodes are alive and \(all.count) are reached")
            let bytes = all.reduce(0) { $0 + NodeRef($1).node.byteCount }
            precondition(bytes == heap.byteCount, "Firn: \(heap.byteCount) bytes are alive and \(bytes) are reached")
            for (index, list) in dead.enumerated() {
                for node in list {
                    let word = NodeRef(node).word
                    precondition(
                        reached[index].contains(word),
                        "Firn: a node is on the dead list of a version that does not reach it")
                    precondition(
                        index + 1 == entries.count || !reached[index + 1].contains(word),
                        "Firn: a node on a dead list is alive in the next version")
                }
            }
            let listed = dead.reduce(0) { $0 + $1.count }
            precondition(
                listed == all.count - (reached.last?.count ?? 0),
                "Firn: \(listed) nodes are on dead lists, \(all.count - (reached.last?.count ?? 0)) are dead")
        }
    }
}

/// The base letters of precomposed code points, for removing diacritics without Foundation.
///
/// It covers every code point whose canonical decomposition is one code point, alone or with combining marks, which are
/// removed. Examples are é, the Angstrom sign, ≠, and CJK compatibility ideographs. Letters that are not composed (ø,
/// ł, đ, ß, æ) are not changed, in agreement with Unicode's decomposition.
///
/// Marks that belong to one script alone are not removed. A code point that is composed with such a mark stays whole,
/// and so does a Hangul syllable. For example, か is no part of が, and 가 is no part of 각.
enum DiacriticTable {
    /// The letter without its diacritics, or the scalar itself if it has none.
    static func base(of scalar: UInt32) -> UInt32 {
        guard scalar >= 0xC0 else { return scalar }
        // Ideographs and Hangul are most of the code points outside the blocks, and have no diacritics.
        if scalar >= 0x3000, scalar < 0xF900 { return scalar }
        for block in blocks {
            if scalar < block.first { break }
            guard scalar < block.first + UInt32(block.letters.count) else { continue }
            let letter = block.letters[Int(scalar - block.first)]
            return letter == 0x2E ? scalar : letter
        }
        return scalar < 0x2000 ? scalar : others[scalar] ?? scalar
    }

    /// Whether the scalar is a combining mark, which is removed completely.
    static func isMark(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x0300...0x036F, 0x0483...0x0487, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20F0, 0xFE20...0xFE2F: true
        default: false
        }
    }

    private struct Block {
        let first: UInt32
        let letters: [UInt32]

        init(_ first: UInt32, _ letters: String) {
            self.first = first
            self.letters = letters.unicodeScalars.map(\.value)
        }
    }

    /// The code points outside the blocks that decompose, with their base letters.
    private static let others: [UInt32: UInt32] = [
        0x2000: 0x2002, 0x2001: 0x2003, 0x2126: 0x3A9, 0x212A: 0x4B, 0x212B: 0x41, 0x2329: 0x3008, 0x232A: 0x3009,
        0x2ADC: 0x2ADD, 0x105C9: 0x105D2, 0x105E4: 0x105DA,
    ]

    /// The blocks in ascending order. A dot stands for a code point without diacritics.
    private static let blocks: [Block] = [
        Block(
            0x00C0,
            "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.yAaAaAaCcCcCcCcDd..EeEeEeEeEeGgGg"
                + "GgGgHh..IiIiIiIiI...JjKk.LlLlLl....NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz."
                + "................................Oo.............Uu............................AaIiOoUuUuUuUuUu.Aa"
                + "AaÆæ..GgKkOoOoƷʒj...Gg..NnAaÆæØøAaAaEeEeIiIiOoOoRrRrUuUuSsTt..Hh......AaEeOoOoOoOoYy............"
                + "................"),
        Block(
            0x0370,
            "....ʹ.........;......¨Α·ΕΗΙ.Ο.ΥΩι.........................ΙΥαεηιυ.........................ιυουω."
                + "...ϒϒ..........................................."),
        Block(
            0x0400,
            "ЕЕ.Г...І....КИУ..........И...............................и......................ее.г...і....киу."
                + "......................Ѵѵ........................................................................"
                + ".Жж.............АаАа..Ее..ӘәЖжЗз..ИиИиОо..ӨөЭэУуУуУуЧч..Ыы......"),
        Block(
            0x1E00,
            "AaBbBbBbCcDdDdDdDdDdEeEeEeEeEeFfGgHhHhHhHhHhIiIiKkKkKkLlLlLlLlMmMmMmNnNnNnNnOoOoOoOoPpPpRrRrRrRr"
                + "SsSsSsSsSsTtTtTtTtUuUuUuUuUuVvVvWwWwWwWwWwXxXxYyZzZzZzhtwy.ſ....AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEe"
                + "EeEeEeEeIiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYyYyYyYy......"),
        Block(
            0x1F00,
            "ααααααααΑΑΑΑΑΑΑΑεεεεεε..ΕΕΕΕΕΕ..ηηηηηηηηΗΗΗΗΗΗΗΗιιιιιιιιΙΙΙΙΙΙΙΙοοοοοο..ΟΟΟΟΟΟ..υυυυυυυυ.Υ.Υ.Υ.Υ"
                + "ωωωωωωωωΩΩΩΩΩΩΩΩααεεηηιιοουυωω..ααααααααΑΑΑΑΑΑΑΑηηηηηηηηΗΗΗΗΗΗΗΗωωωωωωωωΩΩΩΩΩΩΩΩααααα.ααΑΑΑΑΑ.ι."
                + ".¨ηηη.ηηΕΕΗΗΗ᾿᾿᾿ιιιι..ιιΙΙΙΙ.῾῾῾υυυυρρυυΥΥΥΥΡ¨¨`..ωωω.ωωΟΟΩΩΩ´.."),
        Block(
            0x2190,
            "..........←→..................↔..............................⇐⇔⇒"),
        Block(
            0x2200,
            "....∃....∈..∋.......................∣.∥..........................∼..≃..≅.≈......................"
                + "=.≡..........≍<>≤≥..≲≳..≶≷......≺≻..⊂⊃..⊆⊇..................................⊢⊨⊩⊫................"
                + "................................≼≽⊑⊒......⊲⊳⊴⊵"),
        Block(
            0xF900,
            "豈更車賈滑串句龜龜契金喇奈懶癩羅蘿螺裸邏樂洛烙珞落酪駱亂卵欄爛蘭鸞嵐濫藍襤拉臘蠟廊朗浪狼郎來冷勞擄櫓爐盧老蘆虜路露魯鷺碌祿綠菉錄鹿論壟弄籠聾牢磊賂雷壘屢樓淚漏累縷陋勒肋凜凌稜綾菱陵讀拏樂諾丹寧"
                + "怒率異北磻便復不泌數索參塞省葉說殺辰沈拾若掠略亮兩凉梁糧良諒量勵呂女廬旅濾礪閭驪麗黎力曆歷轢年憐戀撚漣煉璉秊練聯輦蓮連鍊列劣咽烈裂說廉念捻殮簾獵令囹寧嶺怜玲瑩羚聆鈴零靈領例禮醴隸惡了僚寮尿料樂"
                + "燎療蓼遼龍暈阮劉杻柳流溜琉留硫紐類六戮陸倫崙淪輪律慄栗率隆利吏履易李梨泥理痢罹裏裡里離匿溺吝燐璘藺隣鱗麟林淋臨立笠粒狀炙識什茶刺切度拓糖宅洞暴輻行降見廓兀嗀..塚.晴..凞猪益礼神祥福靖精羽."
                + "蘒.諸..逸都...飯飼館鶴郞隷侮僧免勉勤卑喝嘆器塀墨層屮悔慨憎懲敏既暑梅海渚漢煮爫琢碑社祉祈祐祖祝禍禎穀突節練縉繁署者臭艹艹著褐視謁謹賓贈辶逸難響頻恵𤋮舘..並况全侀充冀勇勺喝啕喙嗢塚墳奄奔"
                + "婢嬨廒廙彩徭惘慎愈憎慠懲戴揄搜摒敖晴朗望杖歹殺流滛滋漢瀞煮瞧爵犯猪瑱甆画瘝瘟益盛直睊着磌窱節类絛練缾者荒華蝹襁覆視調諸請謁諾諭謹變贈輸遲醙鉶陼難靖韛響頋頻鬒龜𢡊𢡄𣏕㮝䀘䀹𥉉𥳐𧻓齃龎"),
        Block(
            0x2F800,
            "丽丸乁𠄢你侮侻倂偺備僧像㒞𠘺免兔兤具𠔜㒹內再𠕋冗冤仌冬况𩇟凵刃㓟刻剆割剷㔕勇勉勤勺包匆北卉卑博即卽卿卿卿𠨬灰及叟𠭣叫叱吆咞吸呈周咢哶唐啓啣善善喙喫喳嗂圖嘆圗噑噴切壮城埴堍型堲報墬𡓤売壷夆多夢奢"
                + "𡚨𡛪姬娛娧姘婦㛮㛼嬈嬾嬾𡧈寃寘寧寳𡬘寿将当尢㞁屠屮峀岍𡷤嵃𡷦嵮嵫嵼巡巢㠯巽帨帽幩㡢𢆃㡼庰庳庶廊𪎒廾𢌱𢌱舁弢弢㣇𣊸𦇚形彫㣣徚忍志忹悁㤺㤜悔𢛔惇慈慌慎慌慺憎憲憤憯懞懲懶成戛扝抱拔捐𢬌挽拼捨掃揤𢯱搢"
                + "揅掩㨮摩摾撝摷㩬敏敬𣀊旣書晉㬙暑㬈㫤冒冕最暜肭䏙朗望朡杞杓𣏃㭉柺枅桒梅𣑭梎栟椔㮝楂榣槪檨𣚣櫛㰘次𣢧歔㱎歲殟殺殻𣪍𡴋𣫺汎𣲼沿泍汧洖派海流浩浸涅𣴞洴港湮㴳滋滇𣻑淹潮𣽞𣾎濆瀹瀞瀛㶖灊災灷炭𠔥煅𤉣熜𤎫"
                + "爨爵牐𤘈犀犕𤜵𤠔獺王㺬玥㺸㺸瑇瑜瑱璅瓊㼛甤𤰶甾𤲒異𢆟瘐𤾡𤾸𥁄㿼䀈直𥃳𥃲𥄙𥄳眞真真睊䀹瞋䁆䂖𥐝硎碌磌䃣𥘦祖𥚚𥛅福秫䄯穀穊穏𥥼𥪧𥪧竮䈂𥮫篆築䈧𥲀糒䊠糨糣紀𥾆絣䌁緇縂繅䌴𦈨𦉇䍙𦋙罺𦌾羕翺者𦓚𦔣聠𦖨聰"
                + "𣍟䏕育脃䐋脾媵𦞧𦞵𣎓𣎜舁舄辞䑫芑芋芝劳花芳芽苦𦬼若茝荣莭茣莽菧著荓菊菌菜𦰶𦵫𦳕䔫蓱蓳蔖𧏊蕤𦼬䕝䕡𦾱𧃒䕫虐虜虧虩蚩蚈蜎蛢蝹蜨蝫螆䗗蟡蠁䗹衠衣𧙧裗裞䘵裺㒻𧢮𧥦䚾䛇誠諭變豕𧲨貫賁贛起𧼯𠠄跋趼跰𠣞軔輸"
                + "𨗒𨗭邔郱鄑𨜮鄛鈸鋗鋘鉼鏹鐕𨯺開䦕閷𨵷䧦雃嶲霣𩅅𩈚䩮䩶韠𩐊䪲𩒖頋頋頩𩖶飢䬳餩馧駂駾䯎𩬰鬒鱀鳽䳎䳭鵧𪃎䳸𪄅𪈎𪊑麻䵖黹黾鼅鼏鼖鼻𪘀"),
    ]
}

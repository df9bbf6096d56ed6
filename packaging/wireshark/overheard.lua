-- Overheard's formats for Wireshark and tshark: docs/wire-format.md says what they mean.
--
-- On UDP port 4780 (a preference changes it) units are told by their headers; what is sealed stays so. In captures made by
-- `overheard capture` the interface `opened` (DLT_USER0) has what units say under their seal, frame by frame.
--
-- Install: copy this file into the folder that Wireshark names under Help > About > Folders > Personal Lua Plugins, or
-- `tshark -X lua_script:overheard.lua -r FILE`.

local overheard = Proto("overheard", "Overheard")

local KINDS = { [0] = "sealed", [1] = "initiation", [2] = "response", [3] = "reset", [4] = "group",
    [5] = "initiation with a cookie", [6] = "challenge" }
-- made: BEGIN frame types

local FRAMES = {
    [0] = "padding",
    [1] = "packet",
    [2] = "reduced",
    [3] = "reduced, paper's form",
    [4] = "receipt",
    [5] = "request",
    [6] = "reply",
    [7] = "ping",
    [8] = "pong",
    [9] = "flushed",
    [10] = "close",
    [11] = "again: packet",
    [12] = "again: reduced",
    [13] = "store: packet",
    [14] = "store: reduced",
    [15] = "short",
    [16] = "again: short",
    [17] = "store: short",
    [18] = "probe",
    [19] = "lane",
    [20] = "head",
    [21] = "tail",
    [22] = "shared",
    [23] = "membership",
    [24] = "joined",
    [25] = "heard",
    [26] = "chunk request",
    [27] = "chunk reply",
    [28] = "coded",
    [29] = "notice",
    [30] = "neighbour",
    [31] = "associated",
    [32] = "other group",
    [33] = "heard of other",
    [34] = "natives",
    [35] = "reduced, hashed",
    [36] = "repair",
    [37] = "stream: open",
    [38] = "stream: data",
    [39] = "stream: end",
    [40] = "stream: credit",
    [41] = "stream: abort",
    [42] = "stream: stored",
    [43] = "store bounds",
    [44] = "unstored",
    [45] = "again: unstored",
}
-- Frames that take a link sequence, and those that name an earlier one.
local TAKES = { [1] = true, [2] = true, [3] = true, [15] = true, [20] = true, [22] = true, [35] = true, [44] = true }
local NAMES = { [6] = true, [11] = true, [12] = true, [13] = true, [14] = true, [16] = true, [17] = true, [45] = true }
-- made: END frame types
-- What a receipt says of sequences.
local STATES = { [0] = "missing", [1] = "held", [2] = "parked", [3] = "untold" }
-- Why a stream is given up.
local CAUSES = { [0] = "reset", [1] = "refused", [2] = "no answer", [3] = "no stream is free", [4] = "addresses not allowed",
    [5] = "not restored" }
local STREAM_OPEN, STREAM_DATA, STREAM_END, STREAM_ABORT, STREAM_STORED = 37, 38, 39, 41, 42
local RECEIPT, REQUEST, COMPACT, SHORT, SHARED, PACKET, UNSTORED = 4, 5, 2, 15, 22, 1, 44
local GROUP, STORE_BOUNDS = 4, 43

local f = overheard.fields
f.version = ProtoField.uint8("overheard.version", "Version", base.DEC, nil, 0xf0)
f.followed = ProtoField.bool("overheard.followed", "Another unit follows", 8, nil, 0x08)
f.kind = ProtoField.uint8("overheard.kind", "Kind", base.DEC, KINDS, 0x07)
f.key_id = ProtoField.uint24("overheard.key_id", "Key id", base.HEX)
f.counter = ProtoField.uint24("overheard.counter", "Counter, low 24 bits")
f.length = ProtoField.uint16("overheard.length", "Length of what follows")
f.sealed = ProtoField.bytes("overheard.sealed", "Sealed")
f.tag = ProtoField.bytes("overheard.tag", "Tag")
f.mark = ProtoField.bytes("overheard.mark", "Mark")
f.noise = ProtoField.bytes("overheard.noise", "Noise message")
f.response_key_id = ProtoField.uint24("overheard.response.key_id", "Responder's key id", base.HEX)
f.token = ProtoField.bytes("overheard.token", "Reset token")
f.member = ProtoField.uint8("overheard.member", "Member")
f.mac = ProtoField.bytes("overheard.mac", "MAC")
f.sequence = ProtoField.uint24("overheard.sequence", "Link sequence, low 24 bits")
f.frame = ProtoField.uint8("overheard.frame", "Frame", base.DEC, FRAMES, 0x7f)
f.frame_length = ProtoField.uint32("overheard.frame.length", "Length")
f.packet_sequence = ProtoField.uint32("overheard.packet", "Packet")
f.body = ProtoField.bytes("overheard.body", "Body")
f.generation = ProtoField.uint8("overheard.generation", "Generation")
f.regions = ProtoField.uint32("overheard.regions", "Regions")
f.removed = ProtoField.uint32("overheard.removed", "Bytes removed")
f.literals = ProtoField.uint32("overheard.literals", "Literal bytes before")
f.distance = ProtoField.uint32("overheard.distance", "Packets back")
f.offset = ProtoField.uint32("overheard.offset", "Offset there")
f.region_length = ProtoField.uint32("overheard.region.length", "Bytes")
f.has_regions = ProtoField.bool("overheard.short.regions", "Regions", 8, nil, 0x01)
f.has_header = ProtoField.bool("overheard.short.header", "Header as a delta", 8, nil, 0x02)
f.compressed = ProtoField.bool("overheard.short.compressed", "Literals compressed", 8, nil, 0x04)
f.short_generation = ProtoField.uint8("overheard.short.generation", "Generation, low 5 bits", base.DEC, nil, 0xf8)
f.header_distance = ProtoField.uint32("overheard.header.distance", "Header of the packet so many back")
f.newest = ProtoField.uint24("overheard.receipt.newest", "Newest sequence received")
f.received = ProtoField.uint32("overheard.receipt.received", "Received so far")
f.delay = ProtoField.uint32("overheard.receipt.delay", "Delay, 64 us")
f.settled = ProtoField.uint32("overheard.receipt.settled", "Settled before")
f.run = ProtoField.string("overheard.receipt.run", "Run")
f.asked = ProtoField.uint24("overheard.request.sequence", "Asked for")
f.number = ProtoField.uint24("overheard.shared.number", "Number in the group")
f.shared_compressed = ProtoField.bool("overheard.shared.compressed", "Its rest is compressed", 8, nil, 0x80)
f.inner_type = ProtoField.uint8("overheard.shared.frame", "Frame that is shared", base.DEC, FRAMES, 0x7f)
f.stream = ProtoField.uint32("overheard.stream", "Stream")
f.stream_own = ProtoField.bool("overheard.stream.own", "Opened by the sender of the frame")
f.stream_source = ProtoField.ipv4("overheard.stream.source", "Source")
f.stream_source_ipv6 = ProtoField.ipv6("overheard.stream.source_ipv6", "Source")
f.stream_source_port = ProtoField.uint16("overheard.stream.source_port", "Source port")
f.stream_destination = ProtoField.ipv4("overheard.stream.destination", "Destination")
f.stream_destination_ipv6 = ProtoField.ipv6("overheard.stream.destination_ipv6", "Destination")
f.stream_destination_port = ProtoField.uint16("overheard.stream.destination_port", "Destination port")
f.stream_offset = ProtoField.uint32("overheard.stream.offset", "Offset of the first byte, low 32 bits")
f.stream_bytes = ProtoField.bytes("overheard.stream.bytes", "Bytes of records of the stream")
f.stream_end = ProtoField.uint32("overheard.stream.end", "Number of all bytes, low 32 bits")
f.stream_limit = ProtoField.uint32("overheard.stream.limit", "Room up to this charge, low 32 bits")
f.stream_record = ProtoField.uint32("overheard.stream.record", "First stored record, low 32 bits")
f.stream_records = ProtoField.uint32("overheard.stream.records", "Number of stored records")
f.bounds_number = ProtoField.uint32("overheard.bounds.number", "Number of the bounds")
f.bounds_seen = ProtoField.uint32("overheard.bounds.seen", "Number seen")
f.bounds_wishes = ProtoField.uint32("overheard.bounds.wishes", "Would use, KiB")
f.bounds_uses = ProtoField.uint32("overheard.bounds.uses", "Uses, KiB")
f.bounds_keeps = ProtoField.uint32("overheard.bounds.keeps", "Keeps, KiB")
f.stream_cause = ProtoField.uint8("overheard.stream.cause", "Cause", base.DEC, CAUSES)

local malformed = ProtoExpert.new("overheard.malformed", "Makes no sense", expert.group.MALFORMED, expert.severity.WARN)
overheard.experts = { malformed }
overheard.prefs.port = Pref.uint("UDP port", 4780, "The port that nodes listen on")

-- A number in groups of seven bits, the lowest first: value and bytes, or nothing if there is none.
local function varint(buffer, at)
    local value = 0
    for index = 0, 4 do
        if at + index >= buffer:len() then return nil end
        local byte = buffer(at + index, 1):uint()
        value = value + (byte % 128) * 128 ^ index
        if byte < 128 then return value, index + 1 end
    end
    return nil
end

local ip_dissector = Dissector.get("ip")
local ipv6_dissector = Dissector.get("ipv6")

local function inner_packet(buffer, pinfo, tree)
    if buffer:len() < 1 then return end
    local version = math.floor(buffer(0, 1):uint() / 16)
    local columns = tostring(pinfo.cols.info)
    local dissector = version == 6 and ipv6_dissector or version == 4 and ip_dissector
    if dissector then pcall(function() dissector:call(buffer:tvb(), pinfo, tree) end) end
    pinfo.cols.info = columns
end

-- The regions of a compact shim, from `at` on: where they end.
local function regions(buffer, at, tree)
    local count, bytes = varint(buffer, at)
    if not count then return nil end
    local item = tree:add(f.regions, buffer(at, bytes), count)
    at = at + bytes
    local removed = 0
    for _ = 1, count do
        local region, start = {}, at
        for place = 1, 4 do
            local value, taken = varint(buffer, at)
            if not value then return nil end
            region[place] = { value, at, taken }
            at = at + taken
        end
        removed = removed + region[4][1]
        local text = string.format("%d bytes, at %d of the packet %d back", region[4][1], region[3][1], region[2][1])
        local sub = item:add(buffer(start, at - start), text)
        for place, field in ipairs({ f.literals, f.distance, f.offset, f.region_length }) do
            sub:add(field, buffer(region[place][2], region[place][3]), region[place][1])
        end
    end
    tree:add(f.removed, removed):set_generated()
    return at
end

-- A header's delta of TCP over IPv4, which needs no context to be passed over: where it ends.
local function delta(buffer, at)
    local bits = buffer(at, 1):uint()
    at = at + 1
    for bit = 0, 6 do
        if bit32.band(bits, 2 ^ bit) ~= 0 then
            local value, bytes = varint(buffer, at)
            if not value then return nil end
            at = at + bytes
        end
    end
    if bits < 128 then return at end
    local more = buffer(at, 1):uint()
    at = at + 1
    local has = function(bit) return bit32.band(more, bit) ~= 0 end
    if has(0x80) then at = at + 2 end
    if has(0x20) then at = at + 2 end
    if has(0x10) then
        at = at + 1 + 4 * (buffer(at, 1):uint() % 16)
    elseif has(0x08) then
        local edges = 2 * buffer(at, 1):uint()
        at = at + 1
        for _ = 1, edges do
            local value, bytes = varint(buffer, at)
            if not value then return nil end
            at = at + bytes
        end
    end
    for _, bit in ipairs({ 4, 2, 1 }) do
        if has(bit) then at = at + 1 end
    end
    return at
end

local function short(buffer, tree)
    local front = buffer(0, 1)
    for _, field in ipairs({ f.short_generation, f.compressed, f.has_header, f.has_regions }) do tree:add(field, front) end
    local what, at = front:uint() % 8, 1
    if what % 2 == 1 then
        tree:add(f.mac, buffer(at, 8))
        at = at + 8
    end
    if bit32.band(what, 2) ~= 0 then
        local distance, bytes = varint(buffer, at)
        if not distance then return false end
        tree:add(f.header_distance, buffer(at, bytes), distance)
        at = delta(buffer, at + bytes)
    end
    if at and what % 2 == 1 then at = regions(buffer, at, tree) end
    if not at or at > buffer:len() then return false end
    if at < buffer:len() then tree:add(f.body, buffer(at)):prepend_text("Literals: ") end
    return true
end

local function receipt(buffer, tree)
    tree:add(f.newest, buffer(0, 3))
    tree:add(f.generation, buffer(3, 1))
    tree:add(f.received, buffer(4, 4))
    local delay, bytes = varint(buffer, 8)
    if not delay then return false end
    tree:add(f.delay, buffer(8, bytes), delay)
    local at = 8 + bytes
    local settled, taken = varint(buffer, at)
    if not settled then return false end
    tree:add(f.settled, buffer(at, taken), settled)
    at = at + taken
    while at < buffer:len() do
        local run, length = varint(buffer, at)
        if not run or run < 4 then return false end
        tree:add(f.run, buffer(at, length), STATES[run % 4] .. " " .. math.floor(run / 4))
        at = at + length
    end
    return true
end

-- Stored records; false if it makes no sense.
local function stored(buffer, tree)
    tree:add(f.stream_record, buffer(0, 4))
    local count, bytes = varint(buffer, 4)
    if not count then return false end
    tree:add(f.stream_records, buffer(4, bytes), count)
    return 4 + bytes == buffer:len()
end

-- A frame of a stream; false if it makes no sense.
local function stream(kind, buffer, tree)
    local name, at = varint(buffer, 0)
    if not name then return false end
    tree:add(f.stream, buffer(0, at), math.floor(name / 2))
    tree:add(f.stream_own, buffer(0, at), name % 2 == 1)
    tree:append_text(", stream " .. math.floor(name / 2))
    local length = buffer:len()
    if kind == STREAM_OPEN then
        local version = buffer(at, 1):uint()
        if version ~= 4 and version ~= 6 then return false end
        local bytes = version == 4 and 4 or 16
        local ends = version == 4 and { f.stream_source, f.stream_destination }
            or { f.stream_source_ipv6, f.stream_destination_ipv6 }
        at = at + 1
        for place, port in ipairs({ f.stream_source_port, f.stream_destination_port }) do
            tree:add(ends[place], buffer(at, bytes))
            tree:add(port, buffer(at + bytes, 2))
            at = at + bytes + 2
        end
    elseif kind == STREAM_ABORT then
        tree:add(f.stream_cause, buffer(at, 1))
        at = at + 1
    else
        local field = kind == STREAM_DATA and f.stream_offset or kind == STREAM_END and f.stream_end or f.stream_limit
        tree:add(field, buffer(at, 4))
        at = at + 4
        if kind == STREAM_DATA then
            if at < length then tree:add(f.stream_bytes, buffer(at)) end
            return true
        end
    end
    return at == length
end

-- Bounds of stores: of packets, and of records if they are there; false if it makes no sense.
local function store_bounds(buffer, tree)
    local names = { f.bounds_number, f.bounds_seen, f.bounds_wishes, f.bounds_uses, f.bounds_keeps, f.bounds_wishes,
        f.bounds_uses, f.bounds_keeps }
    local at = 0
    for index, name in ipairs(names) do
        if index == 6 and at == buffer:len() then return true end
        local value, bytes = varint(buffer, at)
        if not value then return false end
        tree:add(name, buffer(at, bytes), value)
        at = at + bytes
    end
    return true
end

-- What is in a frame; false if it makes no sense.
local function body(kind, buffer, pinfo, tree)
    if kind == PACKET or kind == UNSTORED then
        inner_packet(buffer, pinfo, tree)
    elseif kind == COMPACT then
        tree:add(f.generation, buffer(0, 1))
        tree:add(f.mac, buffer(1, 8))
        return regions(buffer, 9, tree) ~= nil
    elseif kind == SHORT then
        return short(buffer, tree)
    elseif kind == RECEIPT then
        return receipt(buffer, tree)
    elseif kind == REQUEST then
        for at = 0, buffer:len() - 3, 3 do tree:add(f.asked, buffer(at, 3)) end
    elseif kind == SHARED then
        tree:add(f.number, buffer(0, 3))
        tree:add(f.shared_compressed, buffer(3, 1))
        tree:add(f.inner_type, buffer(3, 1))
        tree:add(f.body, buffer(4))
    elseif kind >= STREAM_OPEN and kind <= STREAM_ABORT then
        return stream(kind, buffer, tree)
    elseif kind == STREAM_STORED then
        return stored(buffer, tree)
    elseif kind == STORE_BOUNDS then
        return store_bounds(buffer, tree)
    elseif NAMES[kind] then
        tree:add(f.packet_sequence, buffer(0, 3))
        if buffer:len() > 3 then tree:add(f.body, buffer(3)) end
    elseif buffer:len() > 0 then
        tree:add(f.body, buffer())
    end
    return true
end

-- Frames from `at` on. Their names, for the line of the packet.
local function frames(buffer, at, sequence, pinfo, tree)
    local told = {}
    while at < buffer:len() do
        local first = buffer(at, 1)
        local kind, to_the_end = first:uint() % 128, first:uint() >= 128
        local length, bytes = buffer:len() - at - 1, 0
        if not to_the_end then length, bytes = varint(buffer, at + 1) end
        if not length or at + 1 + bytes + length > buffer:len() then
            tree:add_proto_expert_info(malformed)
            return told
        end
        local name = FRAMES[kind] or "of a newer version"
        local item = tree:add(overheard, buffer(at, 1 + bytes + length), "Frame: " .. name)
        item:add(f.frame, first)
        item:add(f.frame_length, buffer(at, 1 + bytes), length)
        if TAKES[kind] then
            item:add(f.packet_sequence, sequence):set_generated()
            item:append_text(", packet " .. sequence)
            sequence = (sequence + 1) % 2 ^ 24
        end
        if length > 0 then
            local whole, makes_sense = pcall(body, kind, buffer(at + 1 + bytes, length), pinfo, item)
            if not (whole and makes_sense) then item:add_proto_expert_info(malformed) end
        end
        told[#told + 1] = name
        at = at + 1 + bytes + length
    end
    return told
end

-- The header of a unit: its kind, and where it ends, and how long what follows is.
local function header(buffer, tree)
    local first = buffer(0, 1)
    tree:add(f.version, first)
    tree:add(f.followed, first)
    tree:add(f.kind, first)
    tree:add(f.key_id, buffer(1, 3))
    local kind, at = first:uint() % 8, 4
    if kind == 0 or kind == GROUP then
        tree:add(f.counter, buffer(4, 3))
        at = 7
    end
    local length = buffer:len() - at
    if bit32.band(first:uint(), 8) ~= 0 then
        length = buffer(at, 2):uint()
        tree:add(f.length, buffer(at, 2))
        at = at + 2
    end
    return kind, at, length
end

function overheard.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "Overheard"
    local told, start = {}, 0
    while buffer:len() - start >= 4 do
        local rest = buffer(start):tvb()
        local item = tree:add(overheard, rest())
        local whole, kind, at, length = pcall(header, rest, item)
        if not whole or KINDS[kind] == nil or at + length > rest:len() then
            item:add_proto_expert_info(malformed)
            break
        end
        item:append_text(", " .. KINDS[kind])
        told[#told + 1] = string.format("%s, key %s, %d bytes", KINDS[kind], tostring(rest(1, 3):bytes()), length)
        if kind == 0 or kind == GROUP then
            if length > 16 then item:add(f.sealed, rest(at, length - 16)) end
            if length >= 16 then item:add(f.tag, rest(at + length - 16, 16)) end
        elseif kind == 3 then
            item:add(f.token, rest(at, length))
        elseif length >= 19 then
            if kind == 2 then
                item:add(f.response_key_id, rest(at, 3))
                at, length = at + 3, length - 3
            end
            item:add(f.mark, rest(at, 16))
            item:add(f.noise, rest(at + 16, length - 16))
        end
        item:set_len(at + length)
        start = start + at + length
    end
    pinfo.cols.info = table.concat(told, "; ")
end

local opened = Proto("overheard_opened", "Overheard, opened")

function opened.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "Overheard"
    local item = tree:add(overheard, buffer(), "Overheard, opened")
    local whole, kind, at = pcall(header, buffer, item)
    if not whole then
        item:add_proto_expert_info(malformed)
        return
    end
    if kind == GROUP and buffer:len() >= at + 9 then
        item:add(f.member, buffer(at, 1))
        item:add(f.mac, buffer(at + 1, 8))
        at = at + 9
    end
    if buffer:len() < at + 3 then return end
    item:add(f.sequence, buffer(at, 3))
    pinfo.cols.info = ""
    local told = frames(buffer, at + 3, buffer(at, 3):uint(), pinfo, item)
    pinfo.cols.info = table.concat(told, ", ")
    pinfo.cols.protocol = "Overheard"
end

local registered = nil
local function register()
    local ports = DissectorTable.get("udp.port")
    if registered then ports:remove(registered, overheard) end
    registered = overheard.prefs.port
    ports:add(registered, overheard)
end

function overheard.prefs_changed() register() end

register()
DissectorTable.get("wtap_encap"):add(wtap.USER0, opened)

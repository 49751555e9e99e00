// Answers of a DNS server for addresses of version 4. It has no imports, so that a pod can run it from a ConfigMap.

/** Also of a record before its data. */
const HEADER_BYTES = 12
const ADDRESS_TYPE = 1
const TTL_SECONDS = 1
/** A response with recursion, and one for a name that does not exist. */
const [ANSWERED, NO_NAME] = [0x81_80, 0x81_83]
/** The name of the question, once more. */
const SAME_NAME = 0xc0_0c

/** By name without the domain. */
export type Names = ReadonlyMap<string, readonly string[]>

/** Undefined for what is no question. */
export function answerOf(asked: Buffer, names: Names): Buffer | undefined {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let size = asked[at]; size !== undefined && size !== 0; size = asked[at]) {
    labels.push(asked.toString('latin1', at + 1, at + 1 + size))
    at += 1 + size
  }
  const end = at + 5
  if (asked.length < end) return undefined
  const [, name] = /^(.*)\.cluster\.local$/.exec(labels.join('.').toLowerCase()) ?? []
  const found = names.get(name ?? '')
  const addresses = asked.readUInt16BE(at + 1) === ADDRESS_TYPE ? (found ?? []) : []
  const header = Buffer.alloc(HEADER_BYTES)
  asked.copy(header, 0, 0, 2)
  for (const [n, value] of [found === undefined ? NO_NAME : ANSWERED, 1, addresses.length].entries())
    header.writeUInt16BE(value, 2 + 2 * n)
  const records = addresses.map((address) => {
    const record = Buffer.alloc(HEADER_BYTES)
    for (const [n, value] of [SAME_NAME, ADDRESS_TYPE, 1, 0, TTL_SECONDS, 4].entries())
      record.writeUInt16BE(value, 2 * n)
    return Buffer.concat([record, Buffer.from(address.split('.').map(Number))])
  })
  return Buffer.concat([header, asked.subarray(HEADER_BYTES, end), ...records])
}

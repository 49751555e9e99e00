import { describe, expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import { paxOf, tarOf, type TarEntry } from '#test/doubles/node/tar.ts'
import { readTar, type TarLimits } from './component-tar.ts'

const LIMITS: TarLimits = { entries: 50, bytes: 100_000 }

/** The unpacked entries: folders end with a slash. */
async function unpacked(bytes: Buffer, { chunk = 700, limits = LIMITS } = {}): Promise<Record<string, string>> {
  const out: Record<string, string> = {}
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
  }
  await readTar(chunks(), limits, {
    folder: async (path) => {
      out[`${path}/`] = ''
    },
    file: async (path, mode) => {
      const parts: Buffer[] = []
      return {
        write: async (b) => {
          parts.push(Buffer.from(b))
        },
        end: async () => {
          out[path] = `${mode.toString(8)} ${Buffer.concat(parts).toString()}`
        },
      }
    },
  })
  return out
}

const refusal = (bytes: Buffer, limits = LIMITS): Promise<string> =>
  unpacked(bytes, { limits }).then(
    (out) => `accepted ${Object.keys(out).join(' ')}`,
    (e: unknown) => messageOf(e),
  )

test('files and folders come out as they went in, however the stream is cut', async () => {
  const long = 'x'.repeat(2_000)
  const bytes = tarOf([
    { name: 'bin/', type: '5', mode: 0o755 },
    { name: 'bin/beacon', content: long, mode: 0o755 },
    { name: 'empty' },
    { name: 'deep/name', prefix: 'a/b', content: 'prefix' },
  ])
  const want = { 'bin/': '', 'bin/beacon': `755 ${long}`, empty: '644 ', 'a/b/deep/name': '644 prefix' }
  for (const chunk of [1, 511, 512, 513, 100_000]) expect(await unpacked(bytes, { chunk })).toEqual(want)
})

test('a long path comes from the extended header before its entry, and only for that one', async () => {
  const [folder, long] = ['d'.repeat(150), `${'é'.repeat(120)}/x`]
  const bytes = tarOf([
    paxOf(`path=${folder}/`, 'mtime=0'),
    { name: 'cut', type: '5', mode: 0o755 },
    paxOf(`path=${long}`, 'size=1'),
    // Cut inside a character, as happens in practice.
    { name: 'x', content: 'y', patch: (h) => h.writeUInt8(0xc3, 0) },
    { name: 'short', content: 'z' },
  ])
  for (const chunk of [1, 511, 100_000])
    expect(await unpacked(bytes, { chunk })).toEqual({ [`${folder}/`]: '', [long]: '644 y', short: '644 z' })
})

const file = (name: string, more: Partial<TarEntry> = {}): TarEntry => ({ name, content: 'x', ...more })

const HOSTILE: readonly [what: string, entries: readonly TarEntry[], says: RegExp][] = [
  ['an absolute path', [file('/etc/passwd')], /no plain relative path/],
  ['a path that climbs', [file('a/../../etc/passwd')], /no plain relative path/],
  ['a path that climbs in its prefix', [file('x', { prefix: '..' })], /no plain relative path/],
  ['a dot in the path', [file('./a')], /no plain relative path/],
  ['an empty part', [file('a//b')], /no plain relative path/],
  ['an empty name', [file('')], /no plain relative path/],
  ['a back slash', [file('a\\..\\b')], /no plain relative path/],
  ['a line end in a name', [file('a\nb')], /no plain relative path/],
  ['a direction mark in a name', [file('a\u202Eb')], /"a\ufffdb" is no plain relative path/],
  ['a type that acts in a terminal', [{ name: 'd', type: '\u009b' }], /\(type "\ufffd"\)/],
  ['data after the end of a name', [file('a', { patch: (h) => h.write('evil', 10) })], /data after the end/],
  ['a name that is no UTF-8', [file('a', { patch: (h) => h.writeUInt8(0xff, 0) })], /not UTF-8/],
  ['a symbolic link', [{ name: 'l', type: '2', linkName: '/etc' }], /no regular file/],
  ['a hard link', [{ name: 'l', type: '1', linkName: 'a' }], /no regular file/],
  ['a file that says where it links', [file('a', { linkName: '/etc/passwd' })], /has a link target/],
  ['a character device', [{ name: 'd', type: '3' }], /no regular file/],
  ['a block device', [{ name: 'd', type: '4' }], /no regular file/],
  ['a pipe', [{ name: 'd', type: '6' }], /no regular file/],
  ['a sparse file', [{ name: 'd', type: 'S' }], /no regular file/],
  ['a contiguous file', [{ name: 'd', type: '7' }], /no regular file/],
  ['an extended header without an entry', [paxOf('path=a')], /truncated in an extended header|checksum/],
  ['two extended headers for one entry', [paxOf('path=a'), paxOf('path=b'), file('c')], /followed by another one/],
  ['an extended path that climbs', [paxOf('path=../evil'), file('a')], /no plain relative path/],
  ['an extended path that is empty', [paxOf('path='), file('a')], /an extended header has "path="/],
  ['an extended path with a NUL', [paxOf('path=a\0b'), file('a')], /an extended header has/],
  ['two extended paths', [paxOf('path=a', 'path=b'), file('a')], /has "path" twice/],
  ['an extended size that differs', [paxOf('path=a', 'size=9'), file('a')], /two sizes/],
  ['an extended link target', [paxOf('linkpath=/etc/passwd'), file('a')], /has "linkpath=/],
  ['an extended owner', [paxOf('uid=0'), file('a')], /has "uid=0"/],
  ['a sparse file in an extended header', [paxOf('GNU.sparse.name=a'), file('a')], /has "GNU.sparse/],
  ['the same extended name twice', [paxOf('path=a'), file('x'), paxOf('path=A'), file('y')], /appears twice/],
  ['an empty extended header', [{ name: 'x', type: 'x' }, file('a')], /has 0 bytes/],
  ['a huge extended header', [paxOf(`path=${'a'.repeat(9_000)}`), file('a')], /at most 8192/],
  ['a record with a wrong length', [{ name: 'x', type: 'x', content: '20 path=../evil\n' }, file('a')], /damaged/],
  ['a record that is longer than all', [{ name: 'x', type: 'x', content: '99999 path=a\n' }, file('a')], /damaged/],
  ['a record without its line end', [{ name: 'x', type: 'x', content: '9 path=ab' }, file('a')], /damaged/],
  [
    'an extended name that is no UTF-8',
    [{ name: 'x', type: 'x', content: Buffer.from('3320706174683dff0a', 'hex') }, file('a')],
    /damaged|UTF-8/,
  ],
  ['a global extended header', [file('x', { type: 'g' })], /no regular file/],
  ['a long name of GNU', [file('x', { type: 'L' })], /no regular file/],
  ['a set-user-id bit', [file('a', { mode: 0o4755 })], /set-id or sticky/],
  ['a set-group-id bit', [file('a', { mode: 0o2755 })], /set-id or sticky/],
  ['a sticky bit', [file('a', { mode: 0o1755 })], /set-id or sticky/],
  ['the same name twice', [file('a'), file('a')], /appears twice/],
  ['names that differ in case only', [file('Readme'), file('README')], /appears twice/],
  ['names that differ in their normal form only', [file('\u00e9'), file('e\u0301')], /appears twice/],
  ['names that differ in a sharp s only', [file('STRASSE'), file('straße')], /appears twice/],
  ['names that differ in what is not shown only', [file('a'), file('a\u034f')], /appears twice/],
  ['a folder in the place of a file', [file('a'), { name: 'a/', type: '5' }], /appears twice/],
  ['a file in the place of a folder', [{ name: 'a/', type: '5' }, file('a')], /appears twice/],
  ['a file in the place of an implied folder', [file('a/b'), file('a')], /appears twice/],
  ['a file below a file', [file('a'), file('a/b')], /below a file/],
  ['a folder with content', [{ name: 'a/', type: '5', size: 512 }], /has a non-zero size/],
  ['a negative size', [file('a', { patch: (h) => h.write('-0000000001\0', 124) })], /not an octal number/],
  ['a size in base 256', [file('a', { patch: (h) => h.writeUInt8(0x80, 124) })], /not an octal number/],
  [
    'a user that is no number',
    [file('a', { patch: (h) => h.write('root\0', 108) })],
    /a user that is not an octal number/,
  ],
  [
    'a time that others skip the file for',
    [file('a', { patch: (h) => h.writeUInt8(0x81, 136) })],
    /a time that is not an/,
  ],
  ['a line separator in a name', [file('a\u2028b')], /no plain relative path/],
  ['a wrong checksum', [file('a', { checksum: 1 })], /wrong checksum/],
  ['an old archive', [file('a', { patch: (h) => h.fill(0, 257, 265) })], /not a ustar/],
  ['a path deeper than any', [file(Array.from({ length: 40 }, () => 'd').join('/'))], /too long or too deep/],
  ['more bytes than allowed', [file('a', { content: Buffer.alloc(100_001) })], /exceed 100000 bytes/],
  ['a promised size beyond the limit', [{ name: 'a', size: 8 ** 10 }], /exceed 100000 bytes/],
  ['more entries than allowed', Array.from({ length: 51 }, (_, n) => file(`f${n}`)), /more than 50 entries/],
]

test.each(HOSTILE)('S9 %s is refused', async (_what, entries, says) => {
  expect(await refusal(tarOf(entries))).toMatch(says)
})

describe('S9 an archive that is not whole is refused', () => {
  const whole = tarOf([file('a', { content: 'y'.repeat(600) }), file('b')])

  test('cut at any block', async () => {
    const cuts = Array.from({ length: 7 }, (_, n) => n * 256)
    for (const cut of cuts) expect(await refusal(whole.subarray(0, cut))).toMatch(/marker is missing|truncated/)
  })

  test('something after its end', async () => {
    expect(await refusal(Buffer.concat([whole, Buffer.from('evil')]))).toMatch(/data follows/)
  })

  test('zeros without end after its end', async () => {
    expect(await refusal(Buffer.concat([whole, Buffer.alloc(900_000)]))).toBe('accepted a b')
    expect(await refusal(Buffer.concat([whole, Buffer.alloc(1_100_000)]))).toMatch(/more than 1048576 bytes follow/)
  })

  test('compressed', async () => {
    const bytes = Buffer.alloc(512)
    bytes.writeUInt16BE(0x1f8b)
    expect(await refusal(bytes)).toMatch(/compressed/)
  })
})

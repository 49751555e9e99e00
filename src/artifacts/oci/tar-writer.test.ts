import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FILE_MODE, textFile, type TarEntry } from './tar-entry.ts'
import { entriesOf as entriesIn } from './tar-reader.ts'
import { BLOCK, tarPieces } from './tar-writer.ts'

const entriesOf = (bytes: Buffer) => {
  const chunks = async function* () {
    yield bytes
  }
  return entriesIn(chunks(), (why) => new Error(why))
}
const archive = (entries: readonly TarEntry[]): Buffer => Buffer.concat([...tarPieces(entries)])

/** The content in place of the function that reads it. */
const shown = (e: TarEntry) => (e.kind === 'File' ? { ...e, content: e.content().toString('utf8') } : e)

const LONG = [
  { what: 'a name that splits into both fields', path: `${'a'.repeat(90)}/${'b'.repeat(90)}` },
  { what: 'a folder that fills the first field', path: `${'d'.repeat(155)}/${'f'.repeat(100)}` },
  { what: 'a last part that fits no field', path: `x/${'c'.repeat(180)}` },
  { what: 'a name of more than both fields', path: Array.from({ length: 60 }, () => 'part').join('/') },
  { what: 'a name beyond ASCII', path: 'usr/share/Größe/é.crt' },
]

test.each(LONG)('$what is read back', async ({ path }) => {
  const read = await entriesOf(archive([textFile(path, 'text')]))
  expect(read.filter((e) => e.kind === 'File').map(shown)).toEqual([
    { kind: 'File', path, mode: FILE_MODE, content: 'text' },
  ])
})

test('a link to a long target is read back', async () => {
  const link: TarEntry = { kind: 'Link', path: 'usr/bin/x', target: `/${'long/'.repeat(40)}end` }
  expect((await entriesOf(archive([link]))).at(-1)).toEqual(link)
})

test('the order in which entries are given has no influence, and parents are there', async () => {
  const entries = [textFile('b/c', '1'), textFile('a', '2'), textFile('b.d', '3'), textFile('b/a/x', '4')]
  const bytes = archive(entries)
  expect(archive(entries.toReversed())).toEqual(bytes)
  const paths = (await entriesOf(bytes)).map((e) => e.path)
  expect(paths).toEqual(['a', 'b', 'b.d', 'b/a', 'b/a/x', 'b/c'])
})

test('owner and time are always the same', () => {
  const header = archive([textFile('a', 'x')]).subarray(0, BLOCK)
  // Readers take an owner that is left out for root.
  expect(header.toString('latin1', 108, 124)).toBe('\u0000'.repeat(16))
  expect(header.toString('latin1', 136, 148)).toBe('0000000000 \u0000')
  expect(header.toString('latin1', 257, 265)).toBe('ustar\u000000')
})

const REFUSED: readonly (readonly [string, readonly TarEntry[]])[] = [
  ['a path above the root', [textFile('../etc/passwd', '')]],
  ['an absolute path', [textFile('/etc/passwd', '')]],
  ['a file that deletes what lower layers have', [textFile('etc/.wh.passwd', '')]],
  ['two entries of one name', [textFile('a', '1'), textFile('a', '2')]],
  ['a file in a file', [textFile('a', '1'), textFile('a/b', '2')]],
  ['a link without a target', [{ kind: 'Link', path: 'a', target: '' }]],
]

test.each(REFUSED)('%s is refused', (_, entries) => expect(() => archive(entries)).toThrow('KN1101'))

test('what is written is read back', async () => {
  const part = fc.stringMatching(/^[a-zA-Z0-9_+é-][a-zA-Z0-9_+.é-]{0,120}$/).filter((p) => !p.startsWith('.'))
  const path = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'))
  const files = fc
    .uniqueArray(path, { minLength: 1, maxLength: 8 })
    .map((paths) =>
      paths
        .filter((p) => !paths.some((other) => other.startsWith(`${p}/`)))
        .map((p, i) => textFile(p, 'x'.repeat(i * 300), i % 2 === 0 ? 0o755 : 0o644)),
    )
  await fc.assert(
    fc.asyncProperty(files, async (entries) => {
      const read = await entriesOf(archive(entries))
      const byPath = (a: TarEntry, b: TarEntry) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))
      expect(read.filter((e) => e.kind === 'File').map(shown)).toEqual(entries.toSorted(byPath).map(shown))
    }),
  )
})

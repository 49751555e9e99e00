// Malformed archives: the agent's reader accepts one that holds plain files and folders only, or refuses it with KN8020 before it writes any byte of that entry.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Parser, type ReadEntry } from 'tar'
import { readTar } from '#artifacts/oci/component-tar.ts'
import { tarOf, type TarEntry } from '#test/doubles/node/tar.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { Random } from '#lib/random.ts'
import { FUZZ_TIMEOUT_MS, mutatedBytes, runCampaign, STRANGE_TEXTS } from '#test/support/fuzzing/fuzzing.ts'

const MAX_MESSAGE = 500
const LIMITS = { entries: 40, bytes: 20_000 }

const GOOD: readonly (readonly TarEntry[])[] = [
  [
    { name: 'bin/', type: '5', mode: 0o755 },
    { name: 'bin/beacon', content: 'x'.repeat(700), mode: 0o755 },
    { name: 'e' },
  ],
  [
    { name: 'README', content: 'text' },
    { name: 'deep/name', prefix: 'a/b', content: Buffer.alloc(1_024, 1) },
  ],
  [
    { name: 'a/', type: '5' },
    { name: 'a/b/', type: '5' },
    { name: 'a/b/c', content: '1' },
    { name: 'd', content: '2' },
  ],
]
const GOOD_BYTES = GOOD.map((entries) => tarOf(entries))

const TYPES = ['0', '\0', '5', '1', '2', '3', '4', '6', '7', 'x', 'g', 'L', 'K', 'S', 'V', '\u00ff']
const PLAIN_NAMES = ['a', 'b', 'c', 'd/e', 'd/f', 'A', 'straße', 'STRASSE', '\u00e9', 'e\u0301', '{{x}}']
const NAMES = ['a', 'a/', 'a/b', 'A', './a', '../a', '/a', 'a/../b', 'a//b', '@a', 'C:a', 'a\\b', ...STRANGE_TEXTS]

/** As a packer makes it, but for what another reader would refuse and for large users. */
const plainEntry = (random: Random): TarEntry => ({
  name: random.pick(PLAIN_NAMES),
  content: 'y'.repeat(random.pick([0, 1, 511, 512, 513])),
  mode: random.pick([0o644, 0o755]),
  ...(random.below(4) === 0 && {
    patch: (h: Buffer) =>
      void h.writeUInt8(random.pick([0, 0x20, 0x30, 0x39, 0x80, 0x81, 0xff]), random.pick(NUMBERS_AT)),
  }),
})
const NUMBERS_AT = [100, 108, 116, 124, 136, 148, 329, 337]

const oneEntry = (random: Random): TarEntry => ({
  name: random.pick(NAMES).slice(0, 100),
  content: 'x'.repeat(random.pick([0, 1, 511, 512, 513])),
  type: random.below(3) > 0 ? '0' : random.pick(TYPES),
  mode: random.pick([0o644, 0o755, 0o777, 0o4755, 0o1777, 0]),
  ...(random.below(6) === 0 && { prefix: random.pick(NAMES).slice(0, 155) }),
  ...(random.below(8) === 0 && { linkName: random.pick(NAMES).slice(0, 100) }),
  ...(random.below(8) === 0 && { size: random.pick([0, 1, 512, 8 ** 11 - 1, 30_000]) }),
})

/** Headers with a good checksum around a wrong field, which bytes changed at random never have. */
function made(random: Random): Buffer {
  const isPlain = random.below(2) === 0
  return tarOf(
    Array.from({ length: 1 + random.below(isPlain ? 3 : 5) }, () => {
      if (isPlain) return plainEntry(random)
      const entry = oneEntry(random)
      if (random.below(5) > 0) return entry
      const [at, byte] = [random.below(500), random.below(256)]
      return { ...entry, patch: (h: Buffer) => void h.writeUInt8(byte, at) }
    }),
    { end: random.below(10) > 0 },
  )
}

const hostile = (random: Random): Buffer =>
  random.below(3) === 0 ? mutatedBytes(random, random.pick(GOOD_BYTES), GOOD_BYTES) : made(random)

interface Unpacked {
  readonly path: string
  readonly mode: number
  readonly text: string
}

/** Another tar reader's opinion of the same bytes. */
function asOthersRead(bytes: Buffer): readonly string[] {
  const seen: string[] = []
  const parser = new Parser({
    strict: false,
    onReadEntry: (entry: ReadEntry) => {
      let text = ''
      entry.on('data', (d: Buffer) => (text += d.toString('latin1')))
      const at = seen.push('') - 1
      const path = entry.path.replace(/\/$/, '')
      entry.on('end', () => void (seen[at] = `${entry.type === 'Directory' ? 'd' : 'f'} ${path} ${text}`))
      entry.resume()
    },
  })
  parser.end(bytes)
  return seen
}

const outside = mkdtempSync(join(tmpdir(), 'kubenode-fuzz-'))
afterAll(() => rmSync(outside, { recursive: true, force: true }))

async function one(random: Random): Promise<string> {
  const bytes = hostile(random)
  const chunk = random.pick([1_000_000, 512, 700, 33])
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
  }
  const out: Unpacked[] = []
  const order: string[] = []
  let taken = 0
  const check = (path: string) => {
    // What a join below a folder on disk would make of it.
    expect(join(outside, path)).toBe(`${outside}/${path}`)
    expect(path).not.toMatch(/[\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(path).not.toBe('')
  }
  try {
    await readTar(chunks(), LIMITS, {
      folder: async (path) => {
        check(path)
        order.push(`d ${path} `)
      },
      file: async (path, mode, size) => {
        check(path)
        expect([mode & ~0o777, size <= LIMITS.bytes]).toEqual([0, true])
        const parts: Buffer[] = []
        const at = order.push('') - 1
        return {
          write: async (part) => {
            taken += part.length
            parts.push(Buffer.from(part))
          },
          end: async () => {
            const text = Buffer.concat(parts).toString('latin1')
            expect(text.length).toBe(size)
            out.push({ path, mode, text })
            order[at] = `f ${path} ${text}`
          },
        }
      },
    })
  } catch (e) {
    if (!isKubeNodeError(e) || e.code !== 'KN8020') throw e
    expect(taken).toBeLessThanOrEqual(Math.min(LIMITS.bytes, bytes.length))
    expect(e.message).toBe(printableLine(e.message))
    expect(e.message.length).toBeLessThanOrEqual(MAX_MESSAGE)
    return 'refused'
  }
  // As file systems compare that know no case: upper case of both, since ß has no lower one of its own.
  const names = out.map((f) => f.path.normalize('NFC').toUpperCase())
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((n) => names.some((other) => n.startsWith(`${other}/`)))).toEqual([])
  expect(order.length).toBeLessThanOrEqual(LIMITS.entries)
  expect(order).toEqual(asOthersRead(bytes))
  return order.length === 0 ? 'empty' : 'accepted'
}

test(
  'S9 archives of any bytes are refused with KN8020, or hold what another reader finds in them',
  async () => {
    await runCampaign({ name: 'archives', quick: 4_000, one, mustSee: ['accepted', 'refused'] })
    expect(readdirSync(outside)).toEqual([])
  },
  FUZZ_TIMEOUT_MS,
)

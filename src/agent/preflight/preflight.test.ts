import { execPath } from 'node:process'
import { describe, expect, test } from 'vitest'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { GIB } from '#lib/bytes.ts'
import { parseElf } from '#lib/elf.ts'
import { refuseBelowFloor } from './floor.ts'
import { programRefusal, refusalBefore, skewRefusal, type NodeFacts } from './preflight.ts'
import { readElf } from './read.ts'

const node: NodeFacts = { arch: 'amd64', kernel: '5.10.134-16.al8', glibc: '2.32', cgroup: 'V2' }
const publisher = newPublisher()
const specOf = (spec: Readonly<Record<string, unknown>> = {}, version = '1.2.3') =>
  release(publisher, { version, spec }).spec

describe('before anything is fetched', () => {
  test.each([
    ['what needs nothing', {}, node, { freeBytes: GIB, freeInodes: undefined }, undefined],
    ['another cgroup version', { needs: { cgroup: 'V1' } }, node, undefined, /control groups V1, the node has V2/],
    ['a kernel that is new enough', { needs: { kernel: '>=5.10' } }, node, undefined, undefined],
    [
      'a kernel that is too old',
      { needs: { kernel: '>=5.15' } },
      node,
      undefined,
      /Linux >=5.15, the node has 5.10.134/,
    ],
    ['a full disk', {}, node, { freeBytes: GIB / 8, freeInodes: undefined }, /MiB of free disk, the node has 128/],
    ['no inodes', {}, node, { freeBytes: GIB, freeInodes: 10 }, /10 free inodes/],
  ] as const)('F31 %s', (_what, spec, facts, room, says) => {
    const refusal = refusalBefore(specOf(spec), 1_000_000, facts, room)
    if (says === undefined) expect(refusal).toBeUndefined()
    else expect(refusal?.reason).toMatch(says)
  })
})

describe('F33 a program', () => {
  test('of this very machine may run on it', async () => {
    const elf = await readElf(execPath)
    expect(
      elf === undefined
        ? 'no program'
        : programRefusal(elf, { ...node, arch: elf.arch ?? '', glibc: '99.0' }, () => true),
    ).toBeUndefined()
  })

  test.each([
    ['another processor', { arch: 'arm64', loader: undefined, glibc: undefined }, /built for arm64, the node is amd64/],
    [
      'another C library',
      { arch: 'amd64', loader: '/lib/ld-musl-x86_64.so.1', glibc: undefined },
      /loader \/lib\/ld-musl/,
    ],
    ['a newer C library', { arch: 'amd64', loader: undefined, glibc: [2, 34] }, /glibc 2.34, the node has 2.32/],
    ['an older C library', { arch: 'amd64', loader: undefined, glibc: [2, 4] }, undefined],
    ['no C library', { arch: 'amd64', loader: undefined, glibc: undefined }, undefined],
  ] as const)('for %s', (_what, elf, says) => {
    const why = programRefusal({ ...elf, isAtomic: false }, node, () => false)
    if (says === undefined) expect(why).toBeUndefined()
    else expect(why).toMatch(says)
  })

  test.each([
    ['a script', Buffer.from(`#!/bin/sh\n${' '.repeat(100)}`)],
    ['nothing', Buffer.alloc(0)],
  ])('%s is none', (_what, head) => expect(parseElf(head)).toBeUndefined())

  test('with headers that lead outside is read without harm', () => {
    const head = Buffer.alloc(64)
    head.writeUInt32BE(0x7f454c46)
    head[4] = 2
    head[5] = 1
    head.writeUInt16LE(0x3e, 18)
    head.writeBigUInt64LE(2n ** 63n, 32)
    head.writeUInt16LE(65_535, 54)
    head.writeUInt16LE(65_535, 56)
    expect(parseElf(head)).toEqual({ arch: 'amd64', loader: undefined, glibc: undefined, isAtomic: false })
  })
})

test('a program that needs libatomic is refused where the node lacks it, with the packages that have it', async () => {
  const elf = await readElf(execPath)
  if (elf === undefined) throw new Error('not an ELF file')
  const here = { ...node, arch: elf.arch ?? '', glibc: '99.0' }
  expect(elf.isAtomic).toBe(true)
  const without = programRefusal(elf, here, (path) => !path.includes('atomic'))
  expect(without).toMatch(/^requires libatomic\.so\.1, .* install libatomic1 \(Debian, Ubuntu\) or libatomic/)
  const inDebian = (path: string) => !path.includes('atomic') || path === '/usr/lib/x86_64-linux-gnu/libatomic.so.1'
  expect(programRefusal(elf, here, inDebian)).toBeUndefined()
  expect(programRefusal({ ...elf, isAtomic: false }, here, (path) => !path.includes('atomic'))).toBeUndefined()
})

const skew = { maxAheadOfApiServer: 0, maxBehindApiServer: 3 }
test.each([
  ['1.34.1', 'v1.34.0', undefined],
  ['1.31.9', 'v1.34.0', undefined],
  ['1.30.9', 'v1.34.0', /it is v1.34.0/],
  ['1.35.0', 'v1.34.9', /it is v1.34.9/],
  ['2.34.0', 'v1.34.0', /it is v1.34.0/],
  ['1.34.1', undefined, /cannot be read/],
] as const)('%s beside an API server %s', (version, server, says) => {
  const why = skewRefusal(specOf({ skew }, version), server)
  if (says === undefined) expect(why).toBeUndefined()
  else expect(why).toMatch(says)
})

test.each([
  [{ kernel: '4.18.0-553.el8', glibc: '2.28' }, undefined],
  [{ kernel: '4.17.19', glibc: '2.28' }, /^KN8004: cannot join: this host has Linux 4.17.19/],
  [{ kernel: '6.1.0', glibc: '2.17' }, /^KN8004: cannot join: this host has glibc 2.17/],
  [{ kernel: '6.1.0', glibc: undefined }, undefined],
] as const)('the floor for %j', (system, says) => {
  if (says === undefined) expect(() => refuseBelowFloor(system)).not.toThrow()
  else expect(() => refuseBelowFloor(system)).toThrow(says)
})

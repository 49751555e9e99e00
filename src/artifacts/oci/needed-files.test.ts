import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { elfNeeds } from './elf.ts'
import { neededFiles } from './needed-files.ts'
import type { TarEntry, TarFile } from './tar-entry.ts'

interface Elf {
  readonly interpreter?: string
  readonly libraries: readonly string[]
}

/** A file of headers only, which no system starts. */
function elf({ interpreter, libraries }: Elf): Buffer {
  const names = Buffer.from(`\0${libraries.map((l) => `${l}\0`).join('')}`)
  const loader = Buffer.from(interpreter === undefined ? '' : `${interpreter}\0`)
  const count = interpreter === undefined ? 2 : 3
  const tables = 64 + count * 56
  const base = 0x40_0000
  const dynamicAt = tables + names.length + loader.length
  const offsets = libraries.map((_, i) => 1 + libraries.slice(0, i).reduce((all, l) => all + l.length + 1, 0))
  const dynamic = Buffer.alloc((libraries.length + 2) * 16)
  const put = (i: number, tag: number, value: number) => {
    dynamic.writeBigUInt64LE(BigInt(tag), i * 16)
    dynamic.writeBigUInt64LE(BigInt(value), i * 16 + 8)
  }
  offsets.forEach((at, i) => put(i, 1, at))
  put(libraries.length, 5, base + tables)
  const header = Buffer.alloc(64)
  header.write('\x7fELF\x02\x01\x01', 'latin1')
  header.writeBigUInt64LE(64n, 32)
  header.writeUInt16LE(56, 54)
  header.writeUInt16LE(count, 56)
  const segment = (type: number, offset: number, size: number) => {
    const one = Buffer.alloc(56)
    one.writeUInt32LE(type, 0)
    one.writeBigUInt64LE(BigInt(offset), 8)
    one.writeBigUInt64LE(BigInt(base + offset), 16)
    one.writeBigUInt64LE(BigInt(size), 32)
    return one
  }
  const segments = [
    segment(1, 0, dynamicAt + dynamic.length),
    segment(2, dynamicAt, dynamic.length),
    ...(interpreter === undefined ? [] : [segment(3, tables + names.length, loader.length)]),
  ]
  return Buffer.concat([header, ...segments, names, loader, dynamic])
}

const file = (path: string, content: Buffer): TarFile => ({ kind: 'File', path, mode: 0o755, content: () => content })
const link = (path: string, target: string): TarEntry => ({ kind: 'Link', path, target })

describe('what a program needs', () => {
  test('is its loader and the names of its libraries', () => {
    const made = { interpreter: '/lib64/ld-linux-x86-64.so.2', libraries: ['libz.so.1', 'libc.so.6'] }
    expect(elfNeeds(elf(made))).toEqual(made)
  })

  test('is read from the Node.js that runs this', () => {
    expect(elfNeeds(readFileSync(process.execPath))?.libraries).toEqual(
      expect.arrayContaining(['libc.so.6', 'libatomic.so.1']),
    )
  })

  test.each([
    ['a script', Buffer.from('#!/bin/sh\n')],
    ['nothing', Buffer.alloc(0)],
    ['headers that end early', elf({ libraries: ['libc.so.6'] }).subarray(0, 150)],
  ])('%s needs nothing that is known', (_, bytes) => expect(elfNeeds(bytes)).toBeUndefined())
})

const LIBC = file('lib/x86_64-linux-gnu/libc.so.6', elf({ libraries: [] }))
const Z = file('usr/lib/x86_64-linux-gnu/libz.so.1.2.13', elf({ libraries: ['libc.so.6'] }))
const ENTRIES: readonly TarEntry[] = [
  LIBC,
  Z,
  link('usr/lib/x86_64-linux-gnu/libz.so.1', 'libz.so.1.2.13'),
  file('usr/lib/x86_64-linux-gnu/libunused.so.1', elf({ libraries: ['libc.so.6'] })),
  file('usr/lib/git-core/git-remote-http', elf({ interpreter: '/lib64/ld.so.2', libraries: ['libz.so.1'] })),
  link('usr/lib/git-core/git-remote-https', 'git-remote-http'),
  link('lib64/ld.so.2', '/lib/x86_64-linux-gnu/ld.so.2'),
  file('lib/x86_64-linux-gnu/ld.so.2', elf({ libraries: [] })),
  file('usr/bin/perl', Buffer.from('#!/bin/sh')),
]
const needed = (entries: readonly TarEntry[], programs: readonly string[], others: readonly TarFile[] = []) =>
  neededFiles({ architecture: 'amd64', entries, programs, others }).map((e) => e.path)

test('links, what they lead to, the loader and the libraries of libraries are taken, and nothing else', () => {
  expect(needed(ENTRIES, ['usr/lib/git-core/git-remote-https']).toSorted()).toEqual([
    'lib/x86_64-linux-gnu/ld.so.2',
    'lib/x86_64-linux-gnu/libc.so.6',
    'lib64/ld.so.2',
    'usr/lib/git-core/git-remote-http',
    'usr/lib/git-core/git-remote-https',
    'usr/lib/x86_64-linux-gnu/libz.so.1',
    'usr/lib/x86_64-linux-gnu/libz.so.1.2.13',
  ])
})

test('a library that no package has is named with who needs it', () => {
  const node = file('usr/local/bin/node', elf({ libraries: ['libatomic.so.1'] }))
  expect(() => needed(ENTRIES, [], [node])).toThrow('usr/local/bin/node needs libatomic.so.1')
})

test('links in a circle end in an error', () => {
  expect(() => needed([link('a', 'b'), link('b', 'a')], ['a'])).toThrow('KN1120')
})

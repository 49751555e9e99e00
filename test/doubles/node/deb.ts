// Makes Debian packages for tests: an `ar` archive of a format, a control and a data archive.
import { gzipSync } from 'node:zlib'
import { tarOf, type TarEntry } from './tar.ts'

export interface DebParts {
  readonly control?: string
  readonly scripts?: readonly string[]
  readonly conffiles?: readonly string[]
  readonly data: readonly TarEntry[]
  readonly pack?: (tar: Buffer) => { readonly ending: string; readonly bytes: Buffer }
  /** Further members, as hostile ones have. */
  readonly more?: readonly (readonly [name: string, content: Buffer])[]
}

const CONTROL = 'Package: lamp\nVersion: 1:2.4~ds1-3+deb12u1\nArchitecture: all\nDepends: libc6 (>= 2.34), adduser\n'

const gz = (tar: Buffer) => ({ ending: '.gz', bytes: gzipSync(tar) })

export function debOf({
  control = CONTROL,
  scripts = [],
  conffiles = [],
  data,
  pack = gz,
  more = [],
}: DebParts): Buffer {
  const packed = pack(tarOf(data))
  return arOf([
    ['debian-binary', Buffer.from('2.0\n')],
    [
      'control.tar.gz',
      gzipSync(
        tarOf([
          { name: './control', content: control },
          { name: './conffiles', content: conffiles.map((c) => `${c}\n`).join('') },
          ...scripts.map((name): TarEntry => ({ name: `./${name}`, content: '#!/bin/sh\ntouch /ran\n', mode: 0o755 })),
        ]),
      ),
    ],
    [`data.tar${packed.ending}`, packed.bytes],
    ...more,
  ])
}

export const arOf = (members: readonly (readonly [name: string, content: Buffer])[]): Buffer =>
  Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...members.flatMap(([name, content]) => [
      Buffer.from(`${name.padEnd(16)}0           0     0     100644  ${String(content.length).padEnd(10)}\`\n`),
      content,
      Buffer.alloc(content.length % 2, '\n'),
    ]),
  ])

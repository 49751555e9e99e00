// Downloads are identified by content, bounded, and never written under the names in them (S9, S29).
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import { arOf, debOf, type DebParts } from '#test/doubles/node/deb.ts'
import { tarOf, type TarEntry } from '#test/doubles/node/tar.ts'
import { readEntries } from '../../oci/archive-entries.ts'
import { debSource } from './deb-source.ts'
import { semverOfDebian } from './debian-version.ts'
import { imageSource } from './image-source.ts'
import { copyFiles, openedPart, readTree, refusalOf, wholeFile } from './source.ts'
import { publisherInName, tarSource } from './tar-source.ts'
import { unpackedStream } from '../../oci/unpacked-stream.ts'
import { digestOf, MEDIA } from '../../oci/descriptor.ts'

const refuse = refusalOf('download')
let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-from-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function put(bytes: Buffer, name = 'download'): string {
  const path = join(dir, name)
  writeFileSync(path, bytes)
  return path
}

const xz = (tar: Buffer) => ({ ending: '.xz', bytes: execFileSync('xz', ['-c'], { input: tar }) })
const hasXz = spawnSync('xz', ['--version']).status === 0
const LAMP: TarEntry = { name: './usr/bin/lamp', content: '#!/bin/sh\n', mode: 0o755 }

describe('a Debian package', () => {
  test.each<[string, NonNullable<DebParts['pack']>]>([
    ['no compression', (tar: Buffer) => ({ ending: '', bytes: tar })],
    ['gzip', (tar: Buffer) => ({ ending: '.gz', bytes: gzipSync(tar) })],
    ['zstd', (tar: Buffer) => ({ ending: '.zst', bytes: zstdCompressSync(tar) })],
    ...(hasXz ? [['xz', xz] as [string, typeof xz]] : []),
  ])('is read with %s', async (_, pack) => {
    const source = await debSource(
      put(debOf({ data: [LAMP], pack, scripts: ['postinst'], conffiles: ['/etc/lamp.conf'] })),
    )
    expect(source.facts).toEqual({
      component: 'lamp',
      version: '2.4+ds1-3-deb12u1',
      arch: 'any',
      depends: ['libc6 (>= 2.34)', 'adduser'],
      scripts: ['postinst'],
      conffiles: ['/etc/lamp.conf'],
    })
    expect(source.tree.file('usr/bin/lamp')).toMatchObject({ mode: 0o755, size: 10 })
  })

  test.each<[string, Buffer, RegExp]>([
    ['is no archive', Buffer.from('hello'), /no Debian package/],
    ['is truncated', debOf({ data: [LAMP] }).subarray(0, -40), /truncated/],
    ['has no data', arOf([['debian-binary', Buffer.from('2.0\n')]]), /0 members control.tar/],
    ['has two data archives', debOf({ data: [LAMP], more: [['data.tar', tarOf([LAMP])]] }), /2 members data.tar/],
    ['names no version', debOf({ data: [LAMP], control: 'Package: lamp\n' }), /names no package, version/],
  ])('that %s is refused', async (_, bytes, why) => {
    await expect(debSource(put(bytes))).rejects.toThrow(why)
  })

  test.each([
    ['1:1.6.20~ds1-1+deb12u3', '1.6.20+ds1-1-deb12u3'],
    ['1.1.1+ds1-3+b5', '1.1.1+ds1-3-b5'],
    ['4.3-2+deb12u3', '4.3+2-deb12u3'],
    ['2.0~rc1-1', '2.0-rc1-1'],
    ['1.34.2', '1.34.2'],
    ['v1.34.2-1.1', '1.34.2+1.1'],
  ])('version %s can be compared as %s', (debian, semver) => expect(semverOfDebian(debian)).toBe(semver))
})

const pax = (record: string): TarEntry => ({ name: 'x', type: 'x', content: `${record.length + 3} ${record}` })

const HOSTILE: readonly [what: string, entries: readonly TarEntry[], says: RegExp][] = [
  ['a path that climbs', [{ name: '../../etc/passwd', content: 'x' }], /no plain path/],
  ['a path that climbs in its prefix', [{ name: 'x', prefix: 'a/../..', content: 'x' }], /no plain path/],
  ['a line end in a name', [{ name: 'a\nb', content: 'x' }], /no plain path/],
  ['a direction mark in a name', [{ name: 'a\u202Eb', content: 'x' }], /no plain path/],
  [
    'a climbing path in an extended header',
    [pax('path=../evil\n'), { name: 'a', content: 'x' }],
    /no plain path|Malformed|pax|TAR/i,
  ],
  ['the same file twice', [LAMP, LAMP], /twice/],
  ['a wrong checksum', [{ ...LAMP, checksum: 7 }], /checksum|tar/i],
  ['a size beyond its end', [{ ...LAMP, size: 5_000 }], /Truncated/i],
  [
    'a path of a thousand folders',
    [{ name: 'a/'.repeat(49) + 'b', prefix: 'c/'.repeat(70) + 'd', content: 'x' }],
    /no plain path/,
  ],
]

describe('an archive', () => {
  test.each(HOSTILE)('with %s is refused (S9)', async (_, entries, facts) => {
    await expect(tarSource(put(tarOf(entries)))).rejects.toThrow(facts)
    expect(readdirSync(dir)).toEqual(['download'])
  })

  test('links, devices and a file through a link are data: nothing is written but what was chosen, to places of ours (S9)', async () => {
    const source = await tarSource(
      put(
        tarOf([
          { name: 'etc', type: '2', linkName: '/etc' },
          { name: 'bin/ctl', type: '2', linkName: '../sbin/ctl' },
          { name: 'sbin/ctl', content: 'program', mode: 0o755 },
          { name: 'again', type: '1', linkName: 'sbin/ctl' },
          { name: 'out', type: '2', linkName: '../../../../etc/passwd' },
          { name: 'loop', type: '2', linkName: 'loop' },
          { name: 'null', type: '3' },
        ]),
      ),
    )
    expect(source.tree.file('bin/ctl')?.path).toBe('sbin/ctl')
    expect(source.tree.file('again')?.path).toBe('sbin/ctl')
    for (const path of ['out', 'loop', 'null', 'etc/passwd']) expect(source.tree.file(path)).toBeUndefined()
    const file = source.tree.file('bin/ctl')
    await copyFiles(source, file === undefined ? [] : [{ file, to: join(dir, 'out/one') }])
    expect(readdirSync(dir).toSorted()).toEqual(['download', 'out'])
  })

  test('a bomb ends the reading at its limit, in each compression (S29)', async () => {
    const zeros = tarOf([{ name: 'zeros', content: Buffer.alloc(8 * 2 ** 20) }])
    const packed = [gzipSync(zeros), zstdCompressSync(zeros), ...(hasXz ? [xz(zeros).bytes] : [])]
    for (const [n, bytes] of packed.entries()) {
      const part = wholeFile(put(bytes, `bomb-${n}`))
      let seen = 0
      const all = async () => {
        for await (const chunk of unpackedStream(part, refuse, 2 ** 20)) seen += chunk.length
      }
      await expect(all()).rejects.toThrow(/unpacks to more than 1048576 bytes/)
      expect(seen).toBeLessThanOrEqual(2 ** 20)
    }
  })

  test('an archive in an archive is not unpacked a second time, and bzip2 is named', async () => {
    await expect(tarSource(put(gzipSync(gzipSync(tarOf([LAMP])))))).rejects.toThrow(/no tar archive/)
    await expect(tarSource(put(Buffer.from('BZh91AY&SY')))).rejects.toThrow(/bzip2/)
    await expect(tarSource(put(gzipSync(tarOf([LAMP])).subarray(0, -20)))).rejects.toThrow(/KN1130/)
  })

  test.each(['#!/bin/sh\necho lit\n', '#! /usr/bin/env python3\n', '#!/bin/sh'])(
    'a script is a program: %j',
    async (text) => {
      const source = await tarSource(put(Buffer.from(text), 'lamp.sh'))
      const file = source.tree.file('lamp.sh')
      expect(file).toMatchObject({ mode: 0o755, size: text.length })
      await copyFiles(source, file === undefined ? [] : [{ file, to: join(dir, 'out/lamp') }])
      expect(readFileSync(join(dir, 'out/lamp'), 'utf8')).toBe(text)
    },
  )

  test.each([
    ['echo lit\n', /a script begins with #!/],
    ['<html>not found</html>', /no tar archive and no program/],
    ['', /no tar archive and no program/],
    ['#!sh\n', /names no interpreter by its absolute path/],
    ['#!/bin/sh\r\necho lit\r\n', /end as on Windows/],
  ])('what no host can run is refused: %j', async (text, why) => {
    await expect(tarSource(put(Buffer.from(text)))).rejects.toThrow(why)
  })

  test('entries are counted (S9)', async () => {
    const bytes = tarOf(Array.from({ length: 30 }, (_, n) => ({ name: `f${n}`, content: 'x' })))
    const reading = readEntries(openedPart(wholeFile(put(bytes))), refuse, () => undefined, 20)
    await expect(reading).rejects.toThrow(/more than 20 entries/)
  })

  test('long names come out whole', async () => {
    const name = `${'long/'.repeat(30)}name`
    const record = `path=${name}\n`
    const length = record.length + 4
    const bytes = tarOf([
      { name: 'x', type: 'x', content: `${length} ${record}` },
      { name: 'short', content: 'y' },
    ])
    expect((await readTree([wholeFile(put(bytes))])).file(name)?.size).toBe(1)
  })

  test.each([
    ['containerd-1.7.24-linux-amd64.tar.gz', { version: '1.7.24', arch: 'amd64' }],
    ['cni-plugins-linux-arm64-v1.6.0.tgz', { version: '1.6.0', arch: 'arm64' }],
    ['node_exporter-1.8.2.linux-amd64.tar.gz', { version: '1.8.2', arch: 'amd64' }],
    ['runc.amd64', { arch: 'amd64' }],
    ['kubernetes-node-linux-x86_64.tar.gz', { arch: 'amd64' }],
    ['kubelet', {}],
  ])('says what it is by its name: %s', (name, facts) => expect(publisherInName(name)).toEqual(facts))
})

describe('an image', () => {
  function layout(layers: readonly (readonly TarEntry[])[], platforms = ['amd64']): string {
    const folder = mkdtempSync(join(dir, 'layout-'))
    execFileSync('mkdir', ['-p', join(folder, 'blobs/sha256')])
    const blob = (mediaType: string, bytes: Buffer) => {
      const digest = digestOf(bytes)
      writeFileSync(join(folder, 'blobs/sha256', digest.slice(7)), bytes)
      return { mediaType, digest, size: bytes.length }
    }
    const manifests = platforms.map((architecture) => ({
      ...blob(
        MEDIA.manifest,
        Buffer.from(
          JSON.stringify({
            schemaVersion: 2,
            mediaType: MEDIA.manifest,
            config: blob(MEDIA.config, Buffer.from(JSON.stringify({ architecture, os: 'linux' }))),
            layers: layers.map((l) => blob(MEDIA.layer, gzipSync(tarOf(l)))),
          }),
        ),
      ),
      platform: { architecture, os: 'linux' },
    }))
    writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
    writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, mediaType: MEDIA.index, manifests }))
    return folder
  }
  const open = (path: string, arch?: string) => imageSource(path, { arch, scratch: mkdtempSync(join(dir, 'scratch-')) })

  test('later layers replace and delete, links of folders are followed, and an archive of the layout is the same', async () => {
    const folder = layout([
      [
        { name: 'usr/bin/kubelet', content: 'old', mode: 0o755 },
        { name: 'usr/bin/gone', content: 'x' },
        { name: 'opt/a', content: 'x' },
        { name: 'bin', type: '2', linkName: 'usr/bin' },
      ],
      [
        { name: 'usr/bin/kubelet', content: 'newer', mode: 0o755 },
        { name: 'usr/bin/.wh.gone', content: '' },
        { name: 'opt/b', content: 'x' },
        { name: 'opt/.wh..wh..opq', content: '' },
      ],
    ])
    const archive = put(execFileSync('tar', ['-c', '-C', folder, '.'], { maxBuffer: 2 ** 24 }), 'image.tar')
    for (const path of [folder, archive]) {
      const { tree, facts } = await open(path)
      expect(facts).toEqual({ arch: 'amd64' })
      expect(tree.file('bin/kubelet')).toMatchObject({ layer: 1, size: 5, path: 'usr/bin/kubelet' })
      expect(tree.entries().map((e) => e.path)).toEqual(['bin', 'opt/b', 'usr/bin/kubelet'])
    }
  })

  test('the platform is asked for where there are several, and a changed blob is found', async () => {
    const folder = layout([[LAMP]], ['amd64', 'arm64'])
    await expect(open(folder)).rejects.toThrow(/KN1131: .*amd64, arm64/)
    expect((await open(folder, 'arm64')).facts).toEqual({ arch: 'arm64' })
    await expect(open(folder, 's390x')).rejects.toThrow(/KN1131/)
    const blobs = join(folder, 'blobs/sha256')
    for (const name of readdirSync(blobs)) writeFileSync(join(blobs, name), 'changed')
    const problem = await open(folder, 'arm64').catch(messageOf)
    expect(problem).toMatch(/has other bytes/)
  })
})

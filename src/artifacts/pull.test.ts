import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { descriptorOf, hexOf, jsonBytes, MEDIA, type Descriptor } from './oci/descriptor.ts'
import { bytesSource, type ImageStore } from './oci/image-store.ts'
import { pulledArtifacts } from './pull.ts'

let cache: string
beforeEach(() => void (cache = mkdtempSync(join(tmpdir(), 'kubenode-pull-'))))
afterEach(() => rmSync(cache, { recursive: true, force: true }))

/** A store with one manifest, whose blobs may fail halfway. */
function storeOf(files: readonly (readonly [string, string])[], mediaType: string = MEDIA.manifest, fails = false) {
  const blobs = new Map<string, Buffer>()
  const layers = files.map(([title, text]): Descriptor => {
    const bytes = Buffer.from(text)
    const layer = descriptorOf('application/octet-stream', bytes)
    blobs.set(layer.digest, bytes)
    return { ...layer, annotations: { 'org.opencontainers.image.title': title } }
  })
  const config = descriptorOf('application/vnd.oci.empty.v1+json', Buffer.from('{}'))
  const bytes = jsonBytes({ schemaVersion: 2, mediaType, config, layers })
  const descriptor = descriptorOf(mediaType, bytes)
  let opened = 0
  const store: Pick<ImageStore, 'manifest' | 'openBlob' | 'place'> = {
    place: 'a test',
    manifest: async (reference) => (reference === descriptor.digest ? { descriptor, bytes } : undefined),
    openBlob: (layer) => {
      opened++
      if (fails && opened > 1) throw new Error('the registry went away')
      return bytesSource(layer, blobs.get(layer.digest) ?? Buffer.alloc(0))
    },
  }
  return { store, digest: descriptor.digest, opened: () => opened }
}

test('each layer is a file under its title, brought once', async () => {
  const { store, digest, opened } = storeOf([
    ['trust.json', '{}'],
    ['containerd/2.0/x.tgz', 'bytes'],
  ])
  const folder = await pulledArtifacts(store, digest, cache)
  expect([
    readFileSync(join(folder, 'trust.json'), 'utf8'),
    readFileSync(join(folder, 'containerd/2.0/x.tgz'), 'utf8'),
  ]).toEqual(['{}', 'bytes'])
  expect(await pulledArtifacts(store, digest, cache)).toBe(folder)
  expect([opened(), readdirSync(cache)]).toEqual([2, [hexOf(digest)]])
})

test.each([
  ['a path out of the folder', [['../x', 'a']]],
  ['an absolute path', [['/etc/x', 'a']]],
  ['a hidden file', [['.x', 'a']]],
  ['no title', [['', 'a']]],
] as const)('a layer with %s brings nothing', async (_, files) => {
  const { store, digest } = storeOf(files)
  await expect(pulledArtifacts(store, digest, cache)).rejects.toThrow(/KN14005.*is no path/)
  expect(readdirSync(cache)).toEqual([])
})

test('two layers of one title, a registry that goes away, an index and a digest that is not there bring nothing', async () => {
  const twice = storeOf([
    ['x', 'a'],
    ['x', 'b'],
  ])
  await expect(pulledArtifacts(twice.store, twice.digest, cache)).rejects.toThrow(/EEXIST/)
  const away = storeOf(
    [
      ['x', 'a'],
      ['y', 'b'],
    ],
    MEDIA.manifest,
    true,
  )
  await expect(pulledArtifacts(away.store, away.digest, cache)).rejects.toThrow(/went away/)
  const index = storeOf([['x', 'a']], MEDIA.index)
  await expect(pulledArtifacts(index.store, index.digest, cache)).rejects.toThrow(/KN14005.*not a manifest/)
  await expect(pulledArtifacts(index.store, `sha256:${'0'.repeat(64)}`, cache)).rejects.toThrow(
    /KN14005.*there is none/,
  )
  expect(readdirSync(cache)).toEqual([])
})

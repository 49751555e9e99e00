// A layout and a repository of a registry hold the same images: the one in memory, and Debian's docker-registry.
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { copyImage } from '#artifacts/oci/copy-image.ts'
import { descriptorOf, readIndex, readManifest } from '#artifacts/oci/descriptor.ts'
import { bytesSource, readBlob, type ImageStore } from '#artifacts/oci/image-store.ts'
import { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { RegistryStore } from '#artifacts/oci/registry-store.ts'
import { signImage, verifyImage } from '#artifacts/oci/signature.ts'
import { LIST_TYPE, TAG, smallLayout } from '#test/support/images/small-image.ts'
import { dockerRegistry, hasDockerRegistry } from '#test/support/servers/docker-registry.ts'
import { FakeRegistry } from '#test/support/servers/fake-registry.ts'

interface Opened {
  readonly store: ImageStore
  readonly close: () => Promise<void>
}

const inMemory = (knowsReferrers: boolean) => async (): Promise<Opened> => {
  const registry = await FakeRegistry.start({ knowsReferrers })
  const store = new RegistryStore(
    { host: registry.host, repository: 'acme/small' },
    { isInsecure: true, mayWrite: true },
  )
  return { store, close: () => registry.stop() }
}

const STORES: readonly { readonly name: string; readonly open: () => Promise<Opened>; readonly absent?: string }[] = [
  {
    name: 'a layout',
    open: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'kubenode-layout-test-'))
      const close = async () => rmSync(folder, { recursive: true, force: true })
      return { store: LayoutStore.create(join(folder, 'layout')), close }
    },
  },
  { name: 'a registry that knows referrers', open: inMemory(true) },
  { name: 'a registry that does not', open: inMemory(false) },
  {
    name: 'docker-registry',
    open: async () => {
      const registry = await dockerRegistry()
      const place = { host: registry.host, repository: 'acme/small' }
      return { store: new RegistryStore(place, { isInsecure: true, mayWrite: true }), close: registry.stop }
    },
    ...(hasDockerRegistry() ? {} : { absent: 'docker-registry is not installed here' }),
  },
]

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

describe.each(STORES)('$name', ({ open, absent }) => {
  const opened = async (context: { skip: (why: string) => void }): Promise<ImageStore> => {
    if (absent !== undefined) context.skip(absent)
    const { store, close } = await open()
    closing.push(close)
    return store
  }

  test('holds an image with its platforms and what refers to them, and gives back the same bytes', async (context) => {
    const store = await opened(context)
    const small = await smallLayout()
    closing.push(small.remove)
    const digest = await copyImage({ from: small.store, to: store, reference: TAG, tag: 'x' })
    expect(digest).toBe(small.digest)
    const image = await store.manifest('x')
    expect(image?.descriptor.digest).toBe(digest)
    const listed = readIndex(digest, image?.bytes ?? Buffer.alloc(0)).manifests
    expect(listed.map((m) => [m.digest, m.platform?.architecture])).toEqual([
      [small.platforms[0], 'amd64'],
      [small.platforms[1], 'arm64'],
    ])
    for (const platform of small.platforms) {
      const manifest = await store.manifest(platform)
      const { config, layers } = readManifest(platform, manifest?.bytes ?? Buffer.alloc(0))
      for (const blob of [config, ...layers]) {
        expect(await store.hasBlob(blob)).toBe(true)
        expect(await readBlob(store, blob)).toEqual(await readBlob(small.store, blob))
      }
      const about = (await store.referrers(platform)).filter((r) => r.artifactType === LIST_TYPE)
      expect(about).toHaveLength(1)
    }
    // A second time nothing changes, also not the list of what refers to it.
    await copyImage({ from: small.store, to: store, reference: TAG, tag: 'x' })
    expect(await store.referrers(small.platforms[0] ?? '')).toHaveLength(1)
  })

  test('holds signatures of several keys, and tells which key signed what', async (context) => {
    const store = await opened(context)
    const small = await smallLayout()
    closing.push(small.remove)
    await copyImage({ from: small.store, to: store, reference: TAG, tag: 'x' })
    const [a, b, other] = [newKeys(), newKeys(), newKeys()]
    await expect(verifyImage(store, 'x', a.publicKey)).rejects.toThrow('it has no signature')
    const signed = await signImage(store, 'x', { key: a.privateKey, name: 'r.example/acme/small' })
    expect(signed).toEqual([small.digest, ...small.platforms])
    await signImage(store, 'x', { key: b.privateKey, name: 'r.example/acme/small' })
    for (const { publicKey } of [a, b])
      for (const reference of ['x', ...small.platforms])
        expect(await verifyImage(store, reference, publicKey)).toMatchObject({ name: 'r.example/acme/small' })
    await expect(verifyImage(store, 'x', other.publicKey)).rejects.toThrow('none of its 2 signatures')
  })

  test('says that it has no such manifest and no such blob', async (context) => {
    const store = await opened(context)
    const bytes = Buffer.from('{}')
    expect(await store.manifest('none')).toBeUndefined()
    expect(await store.hasBlob(descriptorOf('x/y', Buffer.from('not there')))).toBe(false)
    await expect(readBlob(store, descriptorOf('x/y', Buffer.from('not there')))).rejects.toThrow(/KN13/)
    const wrong = { ...descriptorOf('x/y', bytes), digest: `sha256:${'0'.repeat(64)}` }
    await expect(store.putBlob(bytesSource(wrong, bytes))).rejects.toThrow(/KN13/)
    expect(await store.hasBlob(wrong)).toBe(false)
  })
})

test('the same image made twice has one digest', async () => {
  const made = await Promise.all([smallLayout(), smallLayout()])
  for (const { remove } of made) closing.push(remove)
  expect(made[0]?.digest).toBe(made[1]?.digest)
  expect(made[0]?.digest).toMatch(/^sha256:/)
})

test('skopeo copies an image from docker-registry with the same digest', async (context) => {
  if (!hasDockerRegistry()) context.skip('docker-registry is not installed here')
  if (!existsSync('/usr/bin/skopeo')) context.skip('skopeo is not installed here')
  const small = await smallLayout()
  closing.push(small.remove)
  const registry = await dockerRegistry()
  closing.push(registry.stop)
  const to = new RegistryStore({ host: registry.host, repository: 'acme/small' }, { isInsecure: true, mayWrite: true })
  await copyImage({ from: small.store, to, reference: TAG, tag: 'x' })
  const target = join(small.folder, 'copy')
  const args = ['--insecure-policy', 'copy', '--all', '--src-tls-verify=false']
  const skopeo = spawnSync('skopeo', [...args, `docker://${registry.host}/acme/small:x`, `oci:${target}:x`], {
    encoding: 'utf8',
  })
  expect(skopeo.status, skopeo.stderr).toBe(0)
  expect(LayoutStore.open(target).manifests[0]?.digest).toBe(small.digest)
})

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })

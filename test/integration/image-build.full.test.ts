// The image of all platforms, at its full size: equal bytes wherever and by whomever it is built, and what other tools read of it.
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { copyImage } from '#artifacts/oci/copy-image.ts'
import { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { dockerRegistry, hasDockerRegistry } from '#test/support/servers/docker-registry.ts'

const ROOT = join(import.meta.dirname, '../..')

let folder: string
let layout: string
let noImage: string | undefined
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-image-full-'))
  layout = join(folder, 'layout')
  const built = kubenode(ROOT, ['image', 'build', '--output', layout])
  if (/KN1120|KN1050/.test(built.stderr)) noImage = built.stderr.trim()
  else if (built.status !== 0) throw new Error(built.stderr)
}, 600_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const kubenode = (root: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(join(root, 'bin/kubenode'), args, {
    encoding: 'utf8',
    env: { ...process.env, DOCKER_CONFIG: folder, ...env },
  })

const needsImage = (context: TestContext): void => {
  if (noImage !== undefined) context.skip(noImage)
}

test('built in another folder, with another umask, locale, time zone and times of files, it has the same bytes', (context) => {
  needsImage(context)
  const copy = join(folder, 'elsewhere')
  mkdirSync(copy)
  for (const name of ['bin', 'src', 'deploy', 'rules', 'fleet', 'package.json', 'package-lock.json', 'node_modules'])
    spawnSync('cp', ['-R', join(ROOT, name), copy])
  // No link of another checkout, and times of today.
  for (const name of readdirSync(join(copy, 'src/lib'))) utimesSync(join(copy, 'src/lib', name), 1, 1)
  const epoch = spawnSync('git', ['-C', ROOT, 'log', '-1', '--format=%ct'], { encoding: 'utf8' }).stdout.trim()
  const other = join(folder, 'other')
  const script = 'umask 077; exec "$0" "$@"'
  const env = { ...process.env, LC_ALL: 'C', LANG: 'tr_TR.UTF-8', TZ: 'Asia/Tokyo', SOURCE_DATE_EPOCH: epoch }
  const args = ['-c', script, join(copy, 'bin/kubenode'), 'image', 'build', '--output', other]
  const built = spawnSync('/bin/sh', args, { encoding: 'utf8', env })
  expect(built.status, built.stderr).toBe(0)
  const layersOf = (at: string) =>
    readdirSync(join(at, 'blobs/sha256'), { withFileTypes: true })
      .map((e) => e.name)
      .filter((name) => readFileSync(join(at, 'blobs/sha256', name)).length > 1_000_000)
      .toSorted()
  // Labels of a copy name no commit, so manifests differ; everything that runs is the same.
  expect(layersOf(other)).toEqual(layersOf(layout))
  expect(layersOf(layout)).toHaveLength(5)
}, 900_000)

test('built again from the same checkout it has the same digest', (context) => {
  needsImage(context)
  const again = join(folder, 'again.tar')
  const built = kubenode(ROOT, ['image', 'build', '--output', again])
  expect(built.status, built.stderr).toBe(0)
  const { digest } = JSON.parse(built.stdout) as { readonly digest: string }
  const index = LayoutStore.open(layout).manifests.find((m) => m.mediaType.includes('index'))
  expect(digest).toBe(index?.digest)
}, 900_000)

test('pushed to docker-registry it is signed and verified there, and skopeo copies the same bytes', async (context) => {
  needsImage(context)
  if (!hasDockerRegistry()) context.skip('docker-registry is not installed here')
  const registry = await dockerRegistry()
  try {
    const reference = `${registry.host}/acme/kubenode:1`
    const pushed = kubenode(ROOT, ['image', 'push', layout, reference, '--insecure'])
    expect(pushed.stderr).not.toContain('KN')
    const digest = pushed.stdout.trim().split('@')[1] ?? ''
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const [key, pub] = [join(folder, 'key.pem'), join(folder, 'pub.pem')]
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
    writeFileSync(pub, publicKey.export({ type: 'spki', format: 'pem' }))
    expect(kubenode(ROOT, ['image', 'verify', reference, '--insecure', '--key', pub]).stderr).toMatch('KN13031')
    expect(kubenode(ROOT, ['image', 'sign', reference, '--insecure', '--key', key]).status).toBe(0)
    const verified = kubenode(ROOT, [
      'image',
      'verify',
      `${registry.host}/acme/kubenode@${digest}`,
      '--insecure',
      '--key',
      pub,
    ])
    expect(verified.stdout).toBe(`${digest}: signed as ${registry.host}/acme/kubenode with this key\n`)

    const skopeo = spawnSync(
      'skopeo',
      ['copy', '--all', '--src-tls-verify=false', '--insecure-policy', `docker://${reference}`, `oci:${folder}/copy:1`],
      {
        encoding: 'utf8',
      },
    )
    if (skopeo.error !== undefined) context.skip('skopeo is not installed here')
    expect(skopeo.stderr).toBe('')
    expect(LayoutStore.open(join(folder, 'copy')).manifests[0]?.digest).toBe(digest)
    // Everything is there: it can be copied once more, with every digest checked.
    const again = LayoutStore.create(join(folder, 'again'))
    expect(await copyImage({ from: LayoutStore.open(join(folder, 'copy')), to: again, reference: '1' })).toBe(digest)
  } finally {
    await registry.stop()
  }
})

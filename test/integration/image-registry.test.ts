// What a hostile or broken registry can do to a client: nothing that it sends is believed, and no credentials go elsewhere.
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyImage } from '#artifacts/oci/copy-image.ts'
import { digestOf, readManifest, MEDIA } from '#artifacts/oci/descriptor.ts'
import { readBlob } from '#artifacts/oci/image-store.ts'
import { RegistryStore, type RegistryOptions } from '#artifacts/oci/registry-store.ts'
import { TAG, smallLayout, type SmallLayout } from '#test/support/images/small-image.ts'
import { FakeRegistry } from '#test/support/servers/fake-registry.ts'
import { newAuthority } from '#test/support/servers/tls.ts'

let registry: FakeRegistry
let elsewhere: FakeRegistry
let small: SmallLayout
beforeEach(async () => {
  registry = await FakeRegistry.start()
  elsewhere = await FakeRegistry.start()
  small = await smallLayout()
})
afterEach(async () => {
  small.remove()
  await registry.stop()
  await elsewhere.stop()
})

const REPOSITORY = 'acme/small'
const credentials = { username: 'alice', password: 's3cret' }
const BASIC = `Basic ${Buffer.from('alice:s3cret').toString('base64')}`
const storeOf = (options: RegistryOptions = {}) =>
  new RegistryStore(
    { host: registry.host, repository: REPOSITORY },
    { isInsecure: true, mayWrite: true, pauseMs: 1, ...options },
  )
const push = (options?: RegistryOptions) =>
  copyImage({ from: small.store, to: storeOf(options), reference: TAG, tag: 'x' })

/** A layer of the pushed image. */
async function layerOf(store: RegistryStore) {
  const manifest = await store.manifest(small.platforms[0] ?? '')
  const [layer] = readManifest('x', manifest?.bytes ?? Buffer.alloc(0)).layers
  if (layer === undefined) throw new Error('no layer')
  return layer
}

test('a manifest with other content than its digest is refused', async () => {
  await push()
  const other = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [] }))
  registry.manifests.set(small.digest, { type: MEDIA.index, bytes: other })
  await expect(storeOf().manifest(small.digest)).rejects.toThrow(
    `the registry sent content with digest ${digestOf(other)}`,
  )
})

test.each([
  ['other content', (blob: Buffer) => Buffer.from(blob).fill(0, 0, 9), /its digest is/],
  ['content that never ends', (blob: Buffer) => Buffer.concat([blob, Buffer.alloc(1_000_000)]), /longer than/],
  ['content that ends early', (blob: Buffer) => blob.subarray(0, -1), /ends after/],
] as const)('a blob with %s is refused', async (_, change, why) => {
  await push()
  const store = storeOf()
  const layer = await layerOf(store)
  registry.blobs.set(layer.digest, change(registry.blobs.get(layer.digest) ?? Buffer.alloc(0)))
  await expect(readBlob(store, layer)).rejects.toThrow(why)
})

test('a manifest of any length costs bounded memory', async () => {
  registry.instead = (asked, response) => {
    if (!asked.path.includes('/manifests/')) return false
    response.writeHead(200, { 'content-type': MEDIA.index })
    const piece = Buffer.alloc(1_000_000, ' ')
    const more = () => {
      while (response.write(piece));
      response.once('drain', more)
    }
    more()
    return true
  }
  await expect(storeOf().manifest('x')).rejects.toThrow(/KN13020.*larger than/)
})

test('a registry that stores a manifest under another digest is not believed', async () => {
  registry.instead = ({ method, path }, response) => {
    if (method !== 'PUT' || !path.includes('/manifests/')) return false
    response.writeHead(201, { 'docker-content-digest': `sha256:${'0'.repeat(64)}` }).end()
    return true
  }
  await expect(push()).rejects.toThrow(/KN13010.*stored it as sha256:000/)
})

const wantsLogin =
  (header: () => string): FakeRegistry['instead'] =>
  ({ headers }, response) => {
    if (headers.authorization !== undefined) return false
    response.writeHead(401, { 'www-authenticate': header() }).end()
    return true
  }

test('a name and a password go to the registry that asks for them, and a token in their place to one that names its service', async () => {
  registry.instead = wantsLogin(() => 'Basic realm="r"')
  expect(await push({ credentials })).toBe(small.digest)
  expect(
    registry.asked.filter((a) => a.headers.authorization !== undefined).every((a) => a.headers.authorization === BASIC),
  ).toBe(true)

  elsewhere.instead = (_, response) => {
    response.end(JSON.stringify({ token: 'short-lived' }))
    return true
  }
  registry.instead = wantsLogin(() => `Bearer realm="http://${registry.host}/token",service="r"`)
  const insteadOfAll = registry.instead
  registry.asked.length = 0
  registry.instead = (asked, response, self) => {
    if (asked.path.startsWith('/token')) {
      response.end(JSON.stringify({ token: 'short-lived' }))
      return true
    }
    return insteadOfAll(asked, response, self)
  }
  expect(await push({ credentials })).toBe(small.digest)
  const tokens = registry.asked.filter((a) => a.path.startsWith('/token'))
  expect(tokens[0]?.path).toBe('/token?service=r&scope=repository%3Aacme%2Fsmall%3Apull%2Cpush')
  expect(tokens[0]?.headers.authorization).toBe(BASIC)
  const rest = registry.asked.filter((a) => !a.path.startsWith('/token') && a.headers.authorization !== undefined)
  expect(new Set(rest.map((a) => a.headers.authorization))).toEqual(new Set(['Bearer short-lived']))
})

test('without a login the message says what to do, and the password is in no message', async () => {
  registry.instead = wantsLogin(() => 'Basic realm="r"')
  await expect(push()).rejects.toThrow(/KN13022.*docker login/)
  registry.instead = (_, response) => {
    response.writeHead(403).end(JSON.stringify({ errors: [{ message: 'denied\u001b[31m' }] }))
    return true
  }
  const error = await storeOf({ credentials })
    .manifest('x')
    .catch((e: Error) => e)
  expect(String(error)).toMatch(/KN13021.*403 \(denied/)
  expect(String(error)).not.toMatch(/s3cret|\u001b/) // oxlint-disable-line no-control-regex
})

test('a redirect takes no credentials to another host', async () => {
  await push()
  const layer = await layerOf(storeOf())
  elsewhere.blobs.set(layer.digest, registry.blobs.get(layer.digest) ?? Buffer.alloc(0))
  registry.instead = ({ path, headers }, response) => {
    if (headers.authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    else if (!path.includes('/blobs/')) return false
    else response.writeHead(307, { location: `http://${elsewhere.host}${path}` }).end()
    return true
  }
  // The other host is not one that may be asked without TLS.
  await expect(readBlob(storeOf({ credentials }), layer)).rejects.toThrow(/KN13024/)
  expect(elsewhere.asked).toEqual([])
})

test('an upload that the registry sends elsewhere takes no credentials there', async () => {
  registry.instead = ({ method, path, headers }, response) => {
    if (headers.authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    else if (method !== 'POST') return false
    else response.writeHead(202, { location: `http://${elsewhere.host}${path}1` }).end()
    return true
  }
  await expect(push({ credentials })).rejects.toThrow(/KN13024/)
  expect(elsewhere.asked).toEqual([])
})

test.each([
  ['file:///etc/passwd', /KN13023/],
  ['gopher://x/', /KN13023/],
  ['', /KN13023/],
])('a place of %j for an upload is refused', async (location, why) => {
  registry.instead = ({ method }, response) => {
    if (method !== 'POST') return false
    response.writeHead(202, { location }).end()
    return true
  }
  await expect(push()).rejects.toThrow(why)
})

test('a registry with TLS cannot move anything to a host without', async () => {
  const authority = await newAuthority()
  const { cert, key } = await authority.server()
  const secure = createTlsServer({ cert, key }, ({ url, headers }, response) => {
    if (headers.authorization === undefined && url?.includes('token') === true)
      response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${elsewhere.host}/token"` }).end()
    else response.writeHead(307, { location: `http://${elsewhere.host}/` }).end()
  })
  await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done))
  try {
    const place = { host: `127.0.0.1:${(secure.address() as AddressInfo).port}`, repository: REPOSITORY }
    await expect(new RegistryStore(place, { credentials }).manifest('x')).rejects.toThrow(/KN13020/)
    const trusted = new RegistryStore(place, { credentials, ca: authority.cert })
    await expect(trusted.manifest('x')).rejects.toThrow(/KN13023.*without TLS/)
    await expect(trusted.manifest('token')).rejects.toThrow(/KN13023.*has no TLS/)
    expect(elsewhere.asked).toEqual([])
  } finally {
    secure.closeAllConnections()
    secure.close()
  }
})

test('redirects in a circle end', async () => {
  registry.instead = ({ path }, response) => {
    response.writeHead(302, { location: path }).end()
    return true
  }
  await expect(storeOf().manifest('x')).rejects.toThrow(/KN13023.*redirects more than/)
  expect(registry.asked.length).toBeLessThan(10)
})

test('an upload continues where a lost connection left it, and ends when there is no progress', async () => {
  small.remove()
  small = await smallLayout(250_000)
  let cuts = 0
  registry.instead = ({ method, headers }, response) => {
    const isSecondPiece = method === 'PATCH' && headers['content-range']?.startsWith('100000-') === true
    if (!isSecondPiece || cuts >= 2) return false
    cuts++
    response.socket?.destroy()
    return true
  }
  const pieces = { pieceBytes: 100_000 }
  expect(await push(pieces)).toBe(small.digest)
  const starts = registry.asked
    .filter((a) => a.method === 'PATCH')
    .map((a) => a.headers['content-range']?.split('-')[0])
  expect(starts.filter((s) => s === '100000')).toHaveLength(3)
  // Once for each blob: what the registry has is not sent again.
  expect(starts.filter((s) => s === '0')).toHaveLength(registry.blobs.size)

  registry.blobs.clear()
  registry.instead = ({ method }, response) => {
    if (method !== 'PATCH') return false
    response.writeHead(503).end()
    return true
  }
  await expect(push()).rejects.toThrow(/KN1449.*no progress after 5 attempts/)
})

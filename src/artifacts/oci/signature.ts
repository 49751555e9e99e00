// Image signatures in cosign's format: a payload with the digest, signed with an ECDSA key, in a manifest next to the image.
import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { descriptorOf, readManifest, type Descriptor } from './descriptor.ts'
import { childrenOf, requireManifest } from './image-tree.ts'
import { putReferrer } from './image-documents.ts'
import { readBlob, type ImageStore } from './image-store.ts'
import { ociErrors } from './oci-errors.ts'
import { SIGNATURE_TYPE, signatureTag } from './signature-tag.ts'

const PAYLOAD_TYPE = 'application/vnd.dev.cosign.simplesigning.v1+json'
const ANNOTATION = 'dev.cosignproject.cosign/signature'
const PAYLOAD_KIND = 'cosign container image signature'
const CURVE = 'prime256v1'
const HASH = 'sha256'
/** A payload has about 300 bytes. */
const MAX_PAYLOAD = 64 * 1024
const MAX_SIGNATURES = 100

/** `file` is for messages. */
export function readSigningKey(file: string, pem: string): KeyObject {
  return requireCurve(file, () => createPrivateKey(pem))
}

export function readVerifyingKey(file: string, pem: string): KeyObject {
  return requireCurve(file, () => createPublicKey(pem))
}

function requireCurve(file: string, read: () => KeyObject): KeyObject {
  const bad = (why: string) => new KubeNodeError(ociErrors.KN13030({ file, why }))
  let key: KeyObject
  try {
    key = read()
  } catch (e) {
    throw bad(messageOf(e))
  }
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== CURVE)
    throw bad(`it is not an ECDSA key of the curve P-256`)
  return key
}

/** The signed payload includes the image's name. */
const payloadOf = (name: string, digest: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': name },
        image: { 'docker-manifest-digest': digest },
        type: PAYLOAD_KIND,
      },
      optional: null,
    }),
  )

interface Signature {
  readonly descriptor: Descriptor
  readonly bytes: Buffer
}

/** Signs the image and each platform, and leaves other signatures in place. Returns the digests. */
export async function signImage(
  store: ImageStore,
  reference: string,
  { key, name }: { readonly key: KeyObject; readonly name: string },
): Promise<readonly string[]> {
  const image = await requireManifest(store, reference)
  const all = [image, ...(await childrenOf(store, image))]
  for (const { descriptor } of all) {
    const bytes = payloadOf(name, descriptor.digest)
    const value = sign(HASH, bytes, key).toString('base64')
    const own = { descriptor: { ...descriptorOf(PAYLOAD_TYPE, bytes), annotations: { [ANNOTATION]: value } }, bytes }
    const others = await signaturesOf(store, descriptor.digest)
    const kept = others.filter((s) => !isSignedBy(s, key))
    await putReferrer(
      store,
      descriptor,
      { artifactType: SIGNATURE_TYPE, configType: SIGNATURE_TYPE, layers: [...kept, own] },
      signatureTag(descriptor.digest),
    )
  }
  return all.map((m) => m.descriptor.digest)
}

export interface Verified {
  readonly digest: string
  /** The signer's name for the image. */
  readonly name: string
}

/** Of the image itself; the signed content lists its platforms by digest. */
export async function verifyImage(store: ImageStore, reference: string, key: KeyObject): Promise<Verified> {
  const { descriptor } = await requireManifest(store, reference)
  const { digest } = descriptor
  const image = `${store.place}@${digest}`
  const bad = (why: string) => new KubeNodeError(ociErrors.KN13031({ image, why }))
  const signatures = await signaturesOf(store, digest)
  if (signatures.length === 0) throw bad('it has no signature')
  const ofKey = signatures.filter((s) => isSignedBy(s, key))
  if (ofKey.length === 0) throw bad(`none of its ${signatures.length} signatures was made with this key`)
  const names = ofKey.flatMap(({ bytes }) => nameIn(bytes, digest) ?? [])
  const [name] = names
  if (name === undefined) throw bad('its signature is of another image')
  return { digest, name }
}

function isSignedBy({ descriptor, bytes }: Signature, key: KeyObject): boolean {
  const value = Buffer.from(descriptor.annotations?.[ANNOTATION] ?? '', 'base64')
  return verify(HASH, bytes, key.type === 'private' ? createPublicKey(key) : key, value)
}

/** Undefined unless the payload is about this image. */
function nameIn(bytes: Buffer, digest: string): string | undefined {
  const payload: unknown = JSON.parse(bytes.toString('utf8'))
  const critical = isObject(payload) ? payload['critical'] : undefined
  const { image, identity, type } = isObject(critical) ? critical : {}
  const isOfImage = isObject(image) && image['docker-manifest-digest'] === digest && type === PAYLOAD_KIND
  if (!isOfImage) return undefined
  const name = isObject(identity) ? identity['docker-reference'] : undefined
  return typeof name === 'string' ? name : ''
}

/** Found by cosign's tag and as referrers. */
async function signaturesOf(store: ImageStore, digest: string): Promise<readonly Signature[]> {
  const tagged = await store.manifest(signatureTag(digest))
  const referring = (await store.referrers(digest)).filter((r) => r.artifactType === SIGNATURE_TYPE)
  const manifests = new Map<string, Buffer>()
  if (tagged !== undefined) manifests.set(tagged.descriptor.digest, tagged.bytes)
  for (const { digest: at } of referring.slice(0, MAX_SIGNATURES)) {
    const found = await store.manifest(at)
    if (found !== undefined) manifests.set(at, found.bytes)
  }
  const layers = [...manifests].flatMap(([at, bytes]) => readManifest(at, bytes).layers)
  const usable = layers.filter(({ mediaType, size }) => mediaType === PAYLOAD_TYPE && size <= MAX_PAYLOAD)
  const byValue = new Map(usable.map((l) => [l.annotations?.[ANNOTATION] ?? '', l]))
  const found: Signature[] = []
  for (const descriptor of [...byValue.values()].slice(0, MAX_SIGNATURES))
    found.push({ descriptor, bytes: await readBlob(store, descriptor) })
  return found
}

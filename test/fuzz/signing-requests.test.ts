// Certificate requests that no agent made: the approver approves one exact identity, and signers and users of the certificate read the same.
import { createPublicKey, generateKeyPairSync, sign, X509Certificate, type KeyObject } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { newAuthority, signRequest, type KeyAndCertificate } from '#lib/x509/certificates.ts'
import { readSigningRequest, requestParts } from '#lib/x509/read-request.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { AGENTS_GROUP, AGENT_SIGNER, BOOTSTRAP_GROUP, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import { decide, machineToRead, type CsrDecision } from '#controllers/approver/certificates/csr-decision.ts'
import { tokenFor, tokenId } from '#controllers/approver/join-tokens/token.ts'
import { bitString, der, objectId, pem, readDer, sequence, TAG } from '#lib/x509/der.ts'
import { printableLine } from '#lib/printable.ts'
import type { Random } from '#lib/random.ts'
import { DEFAULT_LIFE_SECONDS } from '#identity/certificate-life.ts'
import { readContent, type ContentRead } from '#identity/request-content.ts'
import {
  FUZZ_TIMEOUT_MS,
  mutatedBytes,
  runCampaign,
  STRANGE_TEXTS,
  strangeText,
} from '#test/support/fuzzing/fuzzing.ts'
import { sha256Hex } from '#lib/sha256.ts'

const LABEL = 'CERTIFICATE REQUEST'
const NAME_TYPES = ['550403', '55040a', '55040b', '550406', '2a864886f70d010901', '0992268993f22c640119', '5504']
const TEXT_TAGS = [TAG.utf8String, TAG.printableString, TAG.ia5String, 0x14, 0x1e, 0x1c, TAG.octetString, TAG.integer]
const TEXTS = [
  agentUser('m-1'),
  agentUser('m-2'),
  agentUser(''),
  agentUser('a.b.c'),
  AGENTS_GROUP,
  agentNodeGroup('m-1'),
  'system:masters',
  'system:kube-controller-manager',
  `${agentUser('m-1')},O=system:masters`,
  `${agentUser('m-1')}+CN=x`,
  `${agentUser('m-1')}\u0000.example.org`,
  `#0c0161`,
  '"quoted"',
  'back\\slash',
  ...STRANGE_TEXTS.filter((t) => t.length < 1_000),
]
const EXTENSION_REQUEST = '2a864886f70d01090e'
const EXTENSIONS = ['551d11', '551d13', '551d25', '2b0601040182371402']

let privateKey: KeyObject
let spki: Buffer
let authority: KeyAndCertificate
let good: readonly Buffer[]
beforeAll(() => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  privateKey = pair.privateKey
  spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  authority = newAuthority('fuzz', { now: Date.now(), days: 1 })
  good = [subjectOf(agentUser('m-1'), AGENTS_GROUP, agentNodeGroup('m-1')), subjectOf('x')].map((s) => request(s))
})

const pair = (type: string, tag: number, text: string | Buffer): Buffer =>
  sequence(objectId(type), der(tag, Buffer.from(text)))
const subjectOf = (cn: string, ...organizations: readonly string[]): Buffer =>
  sequence(
    ...organizations.map((o) => der(TAG.set, pair('55040a', TAG.utf8String, o))),
    der(TAG.set, pair('550403', TAG.utf8String, cn)),
  )

/** Signed with its own key: the defect remains despite a valid signature. */
function request(subject: Buffer, attributes: Buffer = der(0xa0)): Buffer {
  const info = sequence(der(TAG.integer, Buffer.from([0])), subject, spki, attributes)
  return sequence(info, sequence(objectId('2a8648ce3d040302')), bitString(sign('sha256', info, privateKey)))
}

/** Exact, or exact but for one part. */
function nearlyAnAgent(random: Random): Buffer {
  const name = random.pick(['m-1', 'm-2', 'a.b', `m-${'x'.repeat(50)}`])
  const organizations = [...identityOf(name)]
  const at = random.below(organizations.length)
  switch (random.below(6)) {
    case 0:
      organizations.splice(at, 1)
      break
    case 1:
      organizations.splice(at, 0, organizations[at] ?? '')
      break
    case 2:
      organizations.push(random.pick(TEXTS))
      break
    case 3:
      organizations[at] = `${organizations[at]}${random.pick(['\u0000', ' ', '\u200b', ',O=system:masters', 'x'])}`
      break
    default:
  }
  return subjectOf(agentUser(name), ...organizations)
}

function strangeSubject(random: Random): Buffer {
  const sets = Array.from({ length: 1 + random.below(4) }, () =>
    der(
      random.below(20) === 0 ? TAG.sequence : TAG.set,
      ...Array.from({ length: random.below(6) === 0 ? 2 : 1 }, () => {
        const text = random.below(10) === 0 ? strangeText(random).slice(0, 500) : random.pick(TEXTS)
        const bytes = random.below(12) === 0 ? mutatedBytes(random, Buffer.from(text), good) : Buffer.from(text)
        const type = random.below(3) > 0 ? random.pick(['550403', '55040a']) : random.pick(NAME_TYPES)
        return pair(type, random.below(3) > 0 ? TAG.utf8String : random.pick(TEXT_TAGS), bytes)
      }),
    ),
  )
  return sequence(...sets)
}

function strangeAttributes(random: Random): Buffer {
  if (random.below(2) === 0) return der(0xa0)
  const extension = () =>
    sequence(objectId(random.pick(EXTENSIONS)), der(TAG.octetString, Buffer.from(random.pick(TEXTS))))
  const list = sequence(...Array.from({ length: random.below(3) }, extension))
  const type = random.below(2) === 0 ? EXTENSION_REQUEST : random.pick(NAME_TYPES)
  return der(0xa0, sequence(objectId(type), der(TAG.set, ...Array.from({ length: random.below(3) }, () => list))))
}

function hostile(random: Random): string {
  const subject =
    random.below(2) === 0
      ? random.below(2) === 0
        ? strangeSubject(random)
        : nearlyAnAgent(random)
      : random.pick([
          subjectOf(
            agentUser(random.pick(TEXTS).slice(0, 60)),
            ...[AGENTS_GROUP, random.pick(TEXTS)].slice(random.below(2)),
          ),
          mutatedBytes(random, subjectOf(agentUser('m-1'), AGENTS_GROUP), good),
        ])
  const bytes =
    random.below(3) === 0
      ? mutatedBytes(random, random.pick(good), good)
      : request(subject, random.below(3) === 0 ? strangeAttributes(random) : der(0xa0))
  const text = pem(LABEL, bytes)
  switch (random.below(12)) {
    case 0:
      return mutatedBytes(random, Buffer.from(text), good).toString('base64')
    case 1:
      return Buffer.from(text + pem(LABEL, random.pick(good))).toString('base64')
    case 2:
      return mutatedBytes(random, Buffer.from(Buffer.from(text).toString('base64')), good).toString('latin1')
    default:
      return Buffer.from(text).toString('base64')
  }
}

const MAX_WHY = 150
const MAX_MESSAGE = 1_024
const NOW = Date.UTC(2026, 0, 5)
const UID = 'uid-1'

const identityOf = (name: string): readonly string[] => [AGENTS_GROUP, agentNodeGroup(name), machineUidGroup(UID)]

/** As the approver asks: with the Machine of the name and its unused token, whatever the name is. */
function decided(posted: string, content: ContentRead, name: string | undefined): CsrDecision {
  const machine: Machine | undefined =
    name === undefined
      ? undefined
      : { apiVersion: API_GROUP_VERSION, kind: 'Machine', metadata: { name, uid: UID }, spec: { channel: 'Agent' } }
  const id = tokenId(UID, 0)
  const spec = {
    request: posted,
    signerName: AGENT_SIGNER,
    usages: ['client auth'],
    expirationSeconds: DEFAULT_LIFE_SECONDS,
    username: `system:bootstrap:${id}`,
    groups: ['system:bootstrappers', BOOTSTRAP_GROUP],
  }
  const request = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name: 'r' } }
  const token = machine === undefined ? undefined : tokenFor(machine, id, 'sixteen-letters!', NOW)
  return decide({ request: { ...request, spec }, content, machine, token, competing: [] }, NOW)
}

/** The message becomes a condition of the request, which users list. */
function requireShown(decision: CsrDecision): void {
  if (decision.kind === 'Ignore') return
  expect(decision.message).toBe(printableLine(decision.message))
  expect(decision.message.length).toBeLessThanOrEqual(MAX_MESSAGE)
}

async function one(random: Random): Promise<string> {
  const posted = hostile(random)
  const read = await readContent(posted)
  if (read.kind === 'Unreadable') {
    expect(read.why.length).toBeGreaterThan(0)
    expect(read.why.length).toBeLessThanOrEqual(MAX_WHY)
    const decision = decided(posted, read, undefined)
    expect(decision.kind).toBe('Deny')
    requireShown(decision)
    return 'unreadable'
  }
  const { commonNames, organizations, extras, key } = read.content
  const name = machineToRead(read)
  const decision = decided(posted, read, name)
  requireShown(decision)
  if (decision.kind === 'Approve') {
    expect(commonNames).toEqual([agentUser(decision.machine)])
    expect(organizations.toSorted()).toEqual(identityOf(decision.machine).toSorted())
    expect([extras, decision.key]).toEqual([[], key])
  }
  if (name === undefined || commonNames.length !== 1 || extras.length > 0) {
    expect(decision.kind).not.toBe('Approve')
    return 'denied'
  }
  // An approver of another version may approve all of these. The signer must read the same, or refuse.
  expect(commonNames).toEqual([agentUser(name)])
  const text = Buffer.from(posted, 'base64').toString('utf8')
  let signer: ReturnType<typeof readSigningRequest>
  try {
    signer = readSigningRequest(text)
  } catch (e) {
    expect(e).toBeInstanceOf(SyntaxError)
    return 'signer refuses'
  }
  const { commonName, organizations: signed, dnsNames, ipAddresses, otherNames, problem } = signer
  expect({ commonName, organizations: signed.toSorted() }).toEqual({
    commonName: commonNames[0],
    organizations: organizations.toSorted(),
  })
  expect([dnsNames, ipAddresses, otherNames]).toEqual([[], [], false])
  expect(key).toBe(sha256Hex(requestParts(text).publicKey.whole))
  if (problem !== undefined) return 'signer refuses'
  // And the certificate must mean the same to a third reader.
  const validity = { now: Date.now(), days: 1 }
  const issued = new X509Certificate(signRequest(authority, text, { usages: ['client auth'], validity }))
  const subject = issued.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>
  expect(Object.keys(subject).toSorted()).toEqual(organizations.length === 0 ? ['CN'] : ['CN', 'O'])
  expect([subject['CN']].flat()).toEqual(commonNames)
  expect([subject['O'] ?? []].flat().toSorted()).toEqual(organizations.toSorted())
  expect(issued.ca).toBe(false)
  return decision.kind === 'Approve' ? 'approved' : 'readable'
}

test(
  'S2 certificate requests of any bytes are unreadable, or read by approver, signer and others alike',
  async () => {
    expect(readDer(good[0] ?? Buffer.alloc(0))).toHaveLength(1)
    await runCampaign({
      name: 'signing requests',
      quick: 2_000,
      one,
      mustSee: ['unreadable', 'denied', 'readable', 'approved'],
    })
  },
  FUZZ_TIMEOUT_MS,
)

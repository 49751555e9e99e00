// Signed components for tests: an archive, its statement, and a trust document that vouches for both.
import { componentObjectName } from '#lib/names.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machineComponent, type MachineComponent, type MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { AGENT_COMPONENT } from '#agent/self/switch-file.ts'
import { Signer, generateKey } from '#api/trust/keys.ts'
import { signStatement } from '#api/trust/statement.ts'
import { trustBytes, type SignedTrust, type TrustAnchor, type TrustDocument } from '#api/trust/trust-document.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { tarOf, type TarEntry } from './tar.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface Publisher {
  readonly signer: Signer
  readonly anchor: TrustAnchor
  trust(change?: Partial<TrustDocument>): SignedTrust
}

export function newPublisher(pem = generateKey().pem): Publisher {
  const signer = new Signer(pem)
  const anchor: TrustAnchor = { sequence: 1, threshold: 1, keys: [signer.publicKey] }
  return {
    signer,
    anchor,
    trust: (change = {}) => {
      const document: TrustDocument = {
        ...anchor,
        expires: '2100-01-01T00:00:00Z',
        revoked: [],
        floors: {},
        ...change,
      }
      return { document, signatures: [signer.sign(trustBytes(document))] }
    },
  }
}

export interface Release {
  readonly object: MachineComponent
  readonly spec: MachineComponentSpec
  readonly url: string
  readonly artifact: Buffer
}

export interface ReleaseOptions {
  readonly component?: string
  readonly version: string
  readonly entries?: readonly TarEntry[]
  /** What differs from the plain component that the test wants. */
  readonly spec?: Readonly<Record<string, unknown>>
}

export function release(publisher: Publisher, options: ReleaseOptions): Release {
  const {
    component = 'beacon',
    version,
    entries = [{ name: 'bin/beacon', content: `beacon ${version}`, mode: 0o755 }],
  } = options
  const artifact = tarOf(entries)
  const url = `${component}-${version}.tar`
  const raw = {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponent',
    metadata: { name: componentObjectName(component, version) },
    spec: {
      component,
      version,
      artifacts: [
        {
          os: 'linux',
          arch: 'any',
          url,
          sha256: sha256Hex(artifact),
          size: artifact.length,
        },
      ],
      install: { unpack: { path: `/opt/${component}` } },
      disruption: 'Restart',
      ...options.spec,
    },
  }
  const filled: unknown = applyDefaults(machineComponent.schema, raw)
  const object = filled as MachineComponent
  const spec = signStatement(object.spec, publisher.signer)
  return { object: { ...object, spec }, spec, url, artifact }
}

/** The agent itself, as it is delivered to nodes. */
export const agentRelease = (publisher: Publisher, version: string, program: Buffer | string): Release =>
  release(publisher, {
    component: AGENT_COMPONENT,
    version,
    entries: [{ name: 'agent.mjs', content: program, mode: 0o644 }],
    spec: {
      install: { unpack: { path: '/opt/kubenode-agent' } },
      service: { exec: '/opt/kubenode-agent/agent.mjs', restart: 'Always', killMode: 'Process' },
    },
  })

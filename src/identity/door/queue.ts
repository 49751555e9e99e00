// Where verified rejoin requests wait: as certificate requests in the API server. They survive restarts of endpoint and approver, users can list them,
// and the cluster deletes unanswered ones itself.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { AGENT_SIGNER, ANNOTATIONS, DOOR_USER, LABELS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import { type CertificateRequest, certificateRequestType } from '../certificate-request.ts'
import type { DoorProof } from './proof.ts'

interface WaitingEntry {
  readonly name: string
  /** UID of the Machine. */
  readonly uid: string
}

/** The door's dependencies. */
export interface DoorQueue {
  machine(name: string): Promise<Machine | undefined>
  request(name: string): Promise<CertificateRequest | undefined>
  waiting(): Promise<readonly WaitingEntry[]>
  add(request: CertificateRequest): Promise<void>
  remove(name: string): Promise<void>
}

export const isOfDoor = ({ spec }: CertificateRequest): boolean => spec.username === DOOR_USER

export const isUndecided = ({ status }: CertificateRequest): boolean =>
  status?.conditions?.some((c) => ['Approved', 'Denied', 'Failed'].includes(c.type)) !== true

const KEY_DIGITS = 16

/** One for each Machine and new key: a repeated request after a crash has the same name. */
export const entryName = (uid: string, key: string): string => `kubenode-door-${uid}-${key.slice(0, KEY_DIGITS)}`

export function entryOf(
  name: string,
  requestPem: string,
  { proof, seconds }: { readonly proof: DoorProof; readonly seconds: number },
): CertificateRequest {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: {
      name,
      labels: { [LABELS.door]: 'true' },
      annotations: {
        [ANNOTATIONS.machine]: proof.machine,
        [ANNOTATIONS.machineUid]: proof.uid,
        [ANNOTATIONS.doorProof]: JSON.stringify(proof),
      },
    },
    spec: {
      request: Buffer.from(requestPem).toString('base64'),
      signerName: AGENT_SIGNER,
      usages: ['client auth'],
      expirationSeconds: seconds,
    },
  }
}

export function queueIn(client: Pick<KubeClient, 'get' | 'list' | 'create' | 'delete'>): DoorQueue {
  return {
    machine: (name) => client.get(machineType, { name }),
    request: (name) => client.get(certificateRequestType, { name }),
    waiting: async () => {
      const { items } = await client.list(certificateRequestType, { labelSelector: `${LABELS.door}=true` })
      return items
        .filter((r) => isOfDoor(r) && isUndecided(r))
        .map(({ metadata: { name = '', annotations } }) => ({ name, uid: annotations?.[ANNOTATIONS.machineUid] ?? '' }))
    },
    add: async (request) => {
      try {
        await client.create(certificateRequestType, request)
      } catch (e) {
        // It has the same key, so it is from the same host.
        if (!isAlreadyExists(e)) throw e
      }
    },
    remove: async (name) => {
      const found = await client.get(certificateRequestType, { name })
      const uid = found?.metadata.uid
      if (found === undefined || uid === undefined || !isOfDoor(found)) return
      await client.delete(certificateRequestType, { name }, { preconditions: { uid } })
    },
  }
}

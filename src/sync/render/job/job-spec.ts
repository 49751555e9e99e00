// The Job that renders one commit, and the ConfigMaps with its input. Pure. Admission policy kubenode-render (deploy/charts/render-policy.ts) allows
// sync to create only this form.
import { FIELD_MANAGERS, LABELS, RENDER_ACCOUNT, RENDER_NAMESPACE } from '#api/names.ts'
import type { KubeObject, OwnerReference } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'

/** Data in one ConfigMap: an API server accepts one MiB, including keys. */
const PART_BYTES = 960 * 1024
/** 64 MiB of text packs into a tenth of that; more parts would fill a cluster's store. */
const MAX_PARTS = 12
export const MAX_INPUT_BYTES = PART_BYTES * MAX_PARTS

export const CONTAINER = 'render'
const INPUT_FOLDER = '/input'
/** The image's user. */
const UID = 65_532
const PART_KEY = 'part'
/** File names sort in the order of the parts. */
const partFile = (n: number): string => String(n).padStart(2, '0')

/** Heap of the caged process, Node's own overhead, and an answer of the largest size, before and after packing. */
const MEMORY = { request: '256Mi', limit: '1536Mi' } as const
const CPU = { request: '250m', limit: '2' } as const
/** Fleet code writes no files; the program creates one empty folder. */
const TMP_SIZE = '16Mi'
/** From creating the Job until its program runs: scheduling, and the first image pull. */
export const START_MS = 90_000
/** From the end of the code to the end of the container. */
const FINISH_MS = 15_000
/** Long enough for a user to read why a Job failed. */
const KEPT_SECONDS = 300

/** Where its pod may run; the same as for the programs' pods. */
export interface Placement {
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly tolerations: readonly { readonly key: string; readonly value?: string; readonly effect?: string }[]
}

export interface JobRequest {
  /** Name of this render only. */
  readonly run: string
  readonly image: string
  readonly placement?: Placement
  readonly parts: number
  readonly deadlineMs: number
}

export const jobName = (run: string): string => `render-${run}`
const partName = (run: string, n: number): string => `${jobName(run)}-${n}`
const labelsOf = (run: string) => ({ [LABELS.render]: run })
export const ALL_RENDERS = LABELS.render
export const selectorOf = (run: string): string => `${LABELS.render}=${run}`

export const wholeDeadlineMs = (deadlineMs: number): number => START_MS + deadlineMs + FINISH_MS

const metaOf = (run: string, name: string) => ({ name, namespace: RENDER_NAMESPACE, labels: labelsOf(run) })

export function jobOf({ run, image, placement = ANYWHERE, parts, deadlineMs }: JobRequest): KubeObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metaOf(run, jobName(run)),
    spec: {
      parallelism: 1,
      completions: 1,
      // A second try is a new Job, and sync decides about it.
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(wholeDeadlineMs(deadlineMs) / 1_000),
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: { metadata: { labels: labelsOf(run) }, spec: { ...podSpec(run, image, parts), ...placed(placement) } },
    },
  }
}

const ANYWHERE: Placement = { nodeSelector: {}, tolerations: [] }

const placed = ({ nodeSelector, tolerations }: Placement) => ({
  nodeSelector: { 'kubernetes.io/os': 'linux', ...nodeSelector },
  ...(tolerations.length > 0 && {
    tolerations: tolerations.map(({ key, value, effect }) => ({
      key,
      ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
      ...defined({ effect }),
    })),
  }),
})

const podSpec = (run: string, image: string, parts: number) => ({
  restartPolicy: 'Never',
  // The account has no rights; it may provide registry credentials.
  serviceAccountName: RENDER_ACCOUNT,
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  // There is no network, so not even the node's DNS settings are useful.
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['127.0.0.1'] },
  terminationGracePeriodSeconds: 1,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: UID,
    runAsGroup: UID,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  containers: [
    {
      name: CONTAINER,
      image,
      imagePullPolicy: 'IfNotPresent',
      args: ['render-job', INPUT_FOLDER],
      resources: {
        requests: { cpu: CPU.request, memory: MEMORY.request },
        limits: { cpu: CPU.limit, memory: MEMORY.limit },
      },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      volumeMounts: [
        { name: 'input', mountPath: INPUT_FOLDER, readOnly: true },
        { name: 'tmp', mountPath: '/tmp' },
      ],
    },
  ],
  volumes: [
    {
      name: 'input',
      projected: {
        sources: Array.from({ length: parts }, (_, n) => ({
          configMap: { name: partName(run, n), items: [{ key: PART_KEY, path: partFile(n) }] },
        })),
      },
    },
    { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: TMP_SIZE } },
  ],
})

/** They are deleted with their Job, even if sync ends in between. */
export const partsOfInput = (run: string, job: KubeObject, packed: Buffer): readonly KubeObject[] =>
  Array.from({ length: countOfParts(packed) }, (_, n) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metaOf(run, partName(run, n)), ownerReferences: [ownedBy(job)] },
    immutable: true,
    binaryData: { [PART_KEY]: packed.subarray(n * PART_BYTES, (n + 1) * PART_BYTES).toString('base64') },
  }))

export const countOfParts = (packed: Buffer): number => Math.max(1, Math.ceil(packed.length / PART_BYTES))

const ownedBy = ({ metadata: { name = '', uid = '' } }: KubeObject): OwnerReference => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  name,
  uid,
})

/** Set on every request, so that a policy and the audit log can distinguish these objects from a commit's. */
export const AS_RENDERER = { fieldManager: FIELD_MANAGERS.render } as const

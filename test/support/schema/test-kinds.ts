// Schemas of a few kinds, as far as the tests of this folder need them.
import type { Schema } from '#api/schema/schema.ts'
import { OBJECT_META } from '#apiserver/schema/apply/object-meta.ts'

const STRING: Schema = { type: 'string' }
const STRINGS: Schema = { type: 'object', additionalProperties: STRING }
const INTEGER: Schema = { type: 'integer', format: 'int32' }

const object = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties })

const atomicList = (items: Schema): Schema => ({ type: 'array', items, 'x-kubernetes-list-type': 'atomic' })

const mapList = (keys: readonly [string, ...string[]], properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'array',
  items: object(properties),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-strategy': 'merge',
  'x-kubernetes-patch-merge-key': keys[0],
})

const kind = (properties: Readonly<Record<string, Schema>>): Schema =>
  object({ apiVersion: STRING, kind: STRING, metadata: OBJECT_META, ...properties })

export const CONFIG_MAP = kind({ data: STRINGS, binaryData: STRINGS, immutable: { type: 'boolean' } })

const PROTOCOL: Schema = { type: 'string', default: 'TCP' }
const INT_OR_STRING: Schema = { 'x-kubernetes-int-or-string': true }

const CONTAINER = {
  name: STRING,
  image: STRING,
  args: atomicList(STRING),
  env: mapList(['name'], { name: STRING, value: STRING }),
  ports: mapList(['containerPort', 'protocol'], { containerPort: INTEGER, name: STRING, protocol: PROTOCOL }),
}

const POD_SPEC = object({
  containers: mapList(['name'], CONTAINER),
  nodeSelector: { ...STRINGS, 'x-kubernetes-map-type': 'atomic' },
  hostAliases: mapList(['ip'], { ip: STRING, hostnames: atomicList(STRING) }),
  tolerations: atomicList(object({ key: STRING, operator: STRING })),
  volumes: {
    ...mapList(['name'], {
      name: STRING,
      emptyDir: object({ medium: STRING }),
      configMap: object({ name: STRING, defaultMode: INTEGER }),
      hostPath: object({ path: STRING, type: STRING }),
    }),
    'x-kubernetes-patch-strategy': 'merge,retainKeys',
  },
})

export const DEPLOYMENT = kind({
  spec: object({
    replicas: INTEGER,
    selector: { ...object({ matchLabels: STRINGS }), 'x-kubernetes-map-type': 'atomic' },
    template: object({ metadata: OBJECT_META, spec: POD_SPEC }),
  }),
  status: object({ replicas: INTEGER }),
})

export const SERVICE = kind({
  spec: object({
    ports: mapList(['port', 'protocol'], {
      port: INTEGER,
      name: STRING,
      protocol: PROTOCOL,
      targetPort: INT_OR_STRING,
    }),
    selector: { ...STRINGS, 'x-kubernetes-map-type': 'atomic' },
  }),
})

const CONDITION = {
  type: STRING,
  status: STRING,
  reason: STRING,
  message: STRING,
  lastHeartbeatTime: { type: 'string', format: 'date-time' },
  lastTransitionTime: { type: 'string', format: 'date-time' },
} as const

export const NODE = kind({
  spec: object({
    podCIDR: STRING,
    podCIDRs: { type: 'array', items: STRING, 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' },
    providerID: STRING,
    taints: atomicList(object({ key: STRING, value: STRING, effect: STRING })),
    unschedulable: { type: 'boolean' },
  }),
  status: object({
    addresses: mapList(['type'], { type: STRING, address: STRING }),
    capacity: { type: 'object', additionalProperties: INT_OR_STRING },
    allocatable: { type: 'object', additionalProperties: INT_OR_STRING },
    conditions: mapList(['type'], CONDITION),
    images: atomicList(object({ names: atomicList(STRING), sizeBytes: INTEGER })),
    nodeInfo: object({ kubeletVersion: STRING, machineID: STRING, osImage: STRING, kernelVersion: STRING }),
  }),
})

// Object metadata for KubeNode's validator. A CRD never describes it; the server has its own schema.
import { bool, int, list, map, obj, optional, refine, str, time } from './build.ts'
import { check, type ApiSchema } from './extras.ts'
import { dnsLabel, labels, objectName, uid } from './fields.ts'

/** The server's limit for all annotations together. */
const MAX_ANNOTATION_BYTES = 256 * 1024

const annotations = refine(
  map('Annotations.', str('A value.', { max: MAX_ANNOTATION_BYTES }), { max: 512 }),
  {},
  {
    checks: [
      check('annotations fit', (value) => {
        const bytes = Object.entries(Object(value)).reduce(
          (n, [k, v]) => n + Buffer.byteLength(k) + Buffer.byteLength(String(v)),
          0,
        )
        return bytes <= MAX_ANNOTATION_BYTES
          ? undefined
          : `are ${bytes} bytes together, at most ${MAX_ANNOTATION_BYTES} are allowed`
      }),
    ],
  },
)

const owner = obj('An owner.', {
  apiVersion: str('API version.', { min: 1, max: 253 }),
  kind: str('Kind.', { min: 1, max: 63 }),
  name: objectName('Name.'),
  uid: uid('UID.'),
  controller: optional(bool('Whether it is the managing controller.')),
  blockOwnerDeletion: optional(bool('Whether the owner waits for this.')),
})

const managed = { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } as const

export const metadataSchema = (namespaced: boolean): ApiSchema => {
  const { schema } = obj('Standard metadata.', {
    name: optional(objectName('Name of the object.')),
    generateName: optional(str('Start of a name that the server completes.', { min: 1, max: 240 })),
    ...(namespaced ? { namespace: optional(dnsLabel('Namespace of the object.')) } : {}),
    labels: optional(labels('Labels.', 128)),
    annotations: optional(annotations),
    finalizers: optional(list('Finalizers.', str('A finalizer.', { min: 1, max: 317 }), { max: 32 })),
    ownerReferences: optional(list('Owners.', owner, { max: 32 })),
    uid: optional(uid('Set by the server.')),
    resourceVersion: optional(str('Set by the server.', { max: 64 })),
    generation: optional(int('Set by the server.', { min: 0, max: Number.MAX_SAFE_INTEGER })),
    creationTimestamp: optional(time('Set by the server.')),
    deletionTimestamp: optional(time('Set by the server.')),
    deletionGracePeriodSeconds: optional(int('Set by the server.', { min: 0, max: 31_622_400 })),
  })
  return { ...schema, properties: { ...schema.properties, managedFields: managed } }
}

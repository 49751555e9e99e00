// The metadata of every object as the API types it, for kinds whose own schema leaves it open.
import type { Schema } from '#api/schema/schema.ts'

const STRING: Schema = { type: 'string' }
const STRINGS: Schema = { type: 'object', additionalProperties: STRING }
const TIME: Schema = { type: 'string', format: 'date-time' }
const INTEGER: Schema = { type: 'integer', format: 'int64' }
const BOOLEAN: Schema = { type: 'boolean' }

const OWNER_REFERENCE: Schema = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  properties: {
    apiVersion: STRING,
    kind: STRING,
    name: STRING,
    uid: STRING,
    controller: BOOLEAN,
    blockOwnerDeletion: BOOLEAN,
  },
}

export const OBJECT_META: Schema = {
  type: 'object',
  properties: {
    annotations: STRINGS,
    creationTimestamp: TIME,
    deletionGracePeriodSeconds: INTEGER,
    deletionTimestamp: TIME,
    finalizers: {
      type: 'array',
      items: STRING,
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
    generateName: STRING,
    generation: INTEGER,
    labels: STRINGS,
    managedFields: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'atomic' },
    name: STRING,
    namespace: STRING,
    ownerReferences: {
      type: 'array',
      items: OWNER_REFERENCE,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'uid',
    },
    resourceVersion: STRING,
    selfLink: STRING,
    uid: STRING,
  },
}

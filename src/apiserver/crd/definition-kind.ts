// CustomResourceDefinitions as a kind: their fields, their defaults, their status.
import { isObject } from '#lib/json.ts'
import { text, nameColumn } from '../builtin/core-columns.ts'
import type { BuiltinKind, Draft } from '../builtin/kind.ts'
import { always, anything, bool, int32, listOf, pointer, str, struct, time } from '../builtin/shape.ts'
import { definitionProblems } from './validate.ts'
import { namesOf, specOf, statusOf, versionsOf } from './definition.ts'

const names = struct('CustomResourceDefinitionNames', {
  plural: always(str),
  singular: str,
  shortNames: listOf(str),
  kind: always(str),
  listKind: str,
  categories: listOf(str),
})

const anyStruct = pointer(anything)

const version = struct('CustomResourceDefinitionVersion', {
  name: always(str),
  served: always(bool),
  storage: always(bool),
  deprecated: bool,
  deprecationWarning: pointer(str),
  schema: struct('CustomResourceValidation', { openAPIV3Schema: anyStruct }, { 'x-go-field': 'pointer' }),
  subresources: struct(
    'CustomResourceSubresources',
    {
      status: anyStruct,
      scale: struct(
        'CustomResourceSubresourceScale',
        { specReplicasPath: always(str), statusReplicasPath: always(str), labelSelectorPath: pointer(str) },
        { 'x-go-field': 'pointer' },
      ),
    },
    { 'x-go-field': 'pointer' },
  ),
  additionalPrinterColumns: listOf(
    struct('CustomResourceColumnDefinition', {
      name: always(str),
      type: always(str),
      format: str,
      description: str,
      priority: int32,
      jsonPath: always(str),
    }),
  ),
  selectableFields: listOf(struct('SelectableField', { jsonPath: always(str) })),
})

const condition = struct('CustomResourceDefinitionCondition', {
  type: always(str),
  status: always(str),
  lastTransitionTime: time,
  reason: str,
  message: str,
  observedGeneration: { type: 'integer', format: 'int64' },
})

function withDefaults(o: Draft): Draft {
  const spec = specOf(o)
  const n = namesOf(o)
  const kind = String(n['kind'] ?? '')
  return {
    ...o,
    spec: {
      ...spec,
      names: {
        ...n,
        ...(n['singular'] === undefined ? { singular: kind.toLowerCase() } : {}),
        ...(n['listKind'] === undefined && kind !== '' ? { listKind: `${kind}List` } : {}),
      },
      conversion:
        isObject(spec['conversion']) && spec['conversion']['strategy'] !== ''
          ? spec['conversion']
          : { ...(isObject(spec['conversion']) ? spec['conversion'] : {}), strategy: 'None' },
    },
  }
}

const storageVersion = (o: Draft): string | undefined => {
  const name = versionsOf(o).find((v) => v['storage'] === true)?.['name']
  return typeof name === 'string' ? name : undefined
}

const NO_NAMES = { plural: '', kind: '' } as const

export const customResourceDefinition: BuiltinKind = {
  type: {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
  },
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  subresources: ['status'],
  generation: true,
  schema: struct('CustomResourceDefinition', {
    spec: always(
      struct('CustomResourceDefinitionSpec', {
        group: always(str),
        names: always(names),
        scope: always(str),
        versions: always(listOf(version)),
        conversion: anyStruct,
        preserveUnknownFields: bool,
      }),
    ),
    status: always(
      struct('CustomResourceDefinitionStatus', {
        conditions: always({
          ...listOf(condition),
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
        }),
        acceptedNames: always(names),
        storedVersions: always(listOf(str)),
        observedGeneration: { type: 'integer', format: 'int64' },
      }),
    ),
  }),
  columns: [nameColumn, { ...text('Created At', (o) => o.metadata.creationTimestamp ?? null), type: 'date' }],
  applyDefaults: withDefaults,
  prepareForCreate(o) {
    const storage = storageVersion(o)
    return {
      ...o,
      status: { conditions: null, acceptedNames: NO_NAMES, storedVersions: storage === undefined ? null : [storage] },
    }
  },
  prepareForUpdate(o) {
    const storage = storageVersion(o)
    const status = statusOf(o)
    const stored = Array.isArray(status['storedVersions']) ? status['storedVersions'] : []
    return storage === undefined || stored.includes(storage)
      ? o
      : { ...o, status: { ...status, storedVersions: [...stored, storage] } }
  },
  validate: definitionProblems,
}

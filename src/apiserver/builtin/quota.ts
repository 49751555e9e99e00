// Resource quotas, limit ranges, volume claims and storage classes: kept and shown for tools that expect them; only the defaults of
// limit ranges have an effect (admission/limit-ranges.ts).
import { shortModes } from './core-columns.ts'
import { fields, listAt, shown, specOf, statusOf, text, textsAt, type Fields } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import { claimSpec } from './pod-volumes.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

const amounts = s.mapOf(s.quantity)

const resourceQuota: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'ResourceQuota', plural: 'resourcequotas', namespaced: true },
  shortNames: ['quota'],
  subresources: ['status'],
  schema: s.specAndStatus(
    s.struct('ResourceQuotaSpec', {
      hard: amounts,
      scopes: s.listOf(s.str),
      scopeSelector: s.pointer(
        s.struct(
          'ScopeSelector',
          {
            matchExpressions: s.listOf(
              s.struct('ScopedResourceSelectorRequirement', {
                scopeName: s.always(s.str),
                operator: s.always(s.str),
                values: s.listOf(s.str),
              }),
            ),
          },
          { 'x-kubernetes-map-type': 'atomic' },
        ),
      ),
    }),
    s.struct('ResourceQuotaStatus', { hard: amounts, used: amounts }),
  ),
  columns: [
    nameColumn,
    {
      name: 'Request',
      type: 'string',
      cell: (o) =>
        Object.entries(fields(statusOf(o)['hard']))
          .filter(([k]) => !k.startsWith('limits'))
          .map(([k, v]) => `${k}: ${text(fields(statusOf(o)['used'])[k]) || '0'}/${text(v)}`)
          .join(', '),
    },
    {
      name: 'Limit',
      type: 'string',
      cell: (o) =>
        Object.entries(fields(statusOf(o)['hard']))
          .filter(([k]) => k.startsWith('limits'))
          .map(([k, v]) => `${k}: ${text(fields(statusOf(o)['used'])[k]) || '0'}/${text(v)}`)
          .join(', '),
    },
    ageColumn,
  ],
  prepareForCreate: (o) => ({ ...o, status: {} }),
}

const limitRange: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'LimitRange', plural: 'limitranges', namespaced: true },
  shortNames: ['limits'],
  schema: s.specOnly(
    s.struct('LimitRangeSpec', {
      limits: s.always(
        s.listOf(
          s.struct('LimitRangeItem', {
            type: s.always(s.str),
            max: amounts,
            min: amounts,
            default: amounts,
            defaultRequest: amounts,
            maxLimitRequestRatio: amounts,
          }),
        ),
      ),
    }),
  ),
  columns: [nameColumn, { name: 'Created At', type: 'date', cell: (o) => o.metadata.creationTimestamp ?? '' }],
  applyDefaults: (o) => {
    const spec = specOf(o)
    return Array.isArray(spec['limits'])
      ? { ...o, spec: { ...spec, limits: listAt(spec, 'limits').map(itemDefaults) } }
      : o
  },
}

/** A container without a limit gets the most there may be, one without a request its limit, or else the least there may be. */
function itemDefaults(item: Fields): Fields {
  if (item['type'] !== 'Container') return item
  const limits = { ...fields(item['max']), ...fields(item['default']) }
  const requests = { ...fields(item['min']), ...limits, ...fields(item['defaultRequest']) }
  return {
    ...item,
    ...(Object.keys(limits).length === 0 ? {} : { default: limits }),
    ...(Object.keys(requests).length === 0 ? {} : { defaultRequest: requests }),
  }
}

const claimStatus = s.struct('PersistentVolumeClaimStatus', {
  phase: s.str,
  accessModes: s.listOf(s.str),
  capacity: amounts,
  conditions: s.mapList(
    ['type'],
    s.struct('PersistentVolumeClaimCondition', {
      type: s.always(s.str),
      status: s.always(s.str),
      reason: s.str,
      message: s.str,
    }),
  ),
  allocatedResources: amounts,
})

const persistentVolumeClaim: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims', namespaced: true },
  shortNames: ['pvc'],
  subresources: ['status'],
  schema: s.specAndStatus(claimSpec, claimStatus),
  columns: [
    nameColumn,
    { name: 'Status', type: 'string', cell: (o) => text(statusOf(o)['phase']) },
    { name: 'Volume', type: 'string', cell: (o) => text(specOf(o)['volumeName']) },
    { name: 'Capacity', type: 'string', cell: (o) => text(fields(statusOf(o)['capacity'])['storage']) },
    { name: 'Access Modes', type: 'string', cell: (o) => shortModes(textsAt(statusOf(o), 'accessModes')) },
    { name: 'StorageClass', type: 'string', cell: (o) => text(specOf(o)['storageClassName']) },
    {
      name: 'VolumeAttributesClass',
      type: 'string',
      cell: (o) => text(specOf(o)['volumeAttributesClassName']) || '<unset>',
    },
    ageColumn,
    { name: 'VolumeMode', type: 'string', priority: 1, cell: (o) => text(specOf(o)['volumeMode']) },
  ],
  prepareForCreate: (o) => ({ ...o, status: { phase: 'Pending' } }),
}

const storageClass: BuiltinKind = {
  type: { group: 'storage.k8s.io', version: 'v1', kind: 'StorageClass', plural: 'storageclasses', namespaced: false },
  shortNames: ['sc'],
  schema: {
    type: 'object',
    properties: {
      provisioner: s.always(s.str),
      parameters: s.mapOf(s.str),
      reclaimPolicy: s.withDefault(s.pointer(s.str), 'Delete'),
      mountOptions: s.listOf(s.str),
      allowVolumeExpansion: s.pointer(s.bool),
      volumeBindingMode: s.withDefault(s.pointer(s.str), 'Immediate'),
      allowedTopologies: s.listOf(
        s.struct(
          'TopologySelectorTerm',
          {
            matchLabelExpressions: s.listOf(
              s.struct('TopologySelectorLabelRequirement', { key: s.always(s.str), values: s.always(s.listOf(s.str)) }),
            ),
          },
          { 'x-kubernetes-map-type': 'atomic' },
        ),
      ),
    },
  },
  columns: [
    nameColumn,
    { name: 'Provisioner', type: 'string', cell: (o) => text(o['provisioner']) },
    { name: 'ReclaimPolicy', type: 'string', cell: (o) => shown(o['reclaimPolicy']) },
    { name: 'VolumeBindingMode', type: 'string', cell: (o) => shown(o['volumeBindingMode']) },
    { name: 'AllowVolumeExpansion', type: 'string', cell: (o) => String(o['allowVolumeExpansion'] === true) },
    ageColumn,
  ],
}

export const quotaKinds = [resourceQuota, limitRange, persistentVolumeClaim, storageClass] as const

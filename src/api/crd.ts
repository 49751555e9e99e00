// Builds a kind's CustomResourceDefinition from the same schema as its types and validators.
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Schema } from './schema/schema.ts'
import type { PrinterColumn } from './columns.ts'
import { API_GROUP, API_VERSION, type ApiKind, type ScaleSubresource } from './kind.ts'

const CRD_CATEGORY = 'kubenode'

export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1'
  readonly kind: 'CustomResourceDefinition'
  readonly metadata: { readonly name: string; readonly labels: { readonly [key: string]: string } }
  readonly spec: {
    readonly group: string
    readonly scope: 'Namespaced' | 'Cluster'
    readonly names: {
      readonly plural: string
      readonly singular: string
      readonly kind: string
      readonly listKind: string
      readonly shortNames: readonly string[]
      readonly categories: readonly string[]
    }
    readonly versions: readonly CrdVersion[]
  }
}

interface CrdVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly schema: { readonly openAPIV3Schema: Schema }
  readonly subresources?: { readonly status?: Record<string, never>; readonly scale?: ScaleSubresource }
  readonly additionalPrinterColumns: readonly PrinterColumn[]
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
}

export function crdOf(kind: ApiKind): CustomResourceDefinition {
  const { definition } = kind
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${API_GROUP}`, labels: { 'app.kubernetes.io/part-of': 'kubenode' } },
    spec: {
      group: API_GROUP,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        shortNames: [kind.shortName],
        categories: [CRD_CATEGORY],
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: dataOnly(kind.schema) },
          ...subresources(kind),
          additionalPrinterColumns: definition.columns,
          ...(definition.selectable === undefined
            ? {}
            : { selectableFields: definition.selectable.map((jsonPath) => ({ jsonPath })) }),
        },
      ],
    },
  }
}

/**
 * Copies only the data: extras for KubeNode's validator are dropped. A server drops invalid properties; if they were in the file, every `kubectl apply` would
 * find a difference.
 */
const dataOnly = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'properties' && jsonEqual(value, {}) ? undefined : value,
  ) as Schema

function subresources({ definition }: ApiKind): Pick<CrdVersion, 'subresources'> {
  const { status, scale } = definition
  if (status === undefined && scale === undefined) return {}
  return {
    subresources: { ...(status === undefined ? {} : { status: {} }), ...defined({ scale }) },
  }
}

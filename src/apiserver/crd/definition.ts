// Reading the parts of a CustomResourceDefinition.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

export type Fields = Readonly<Record<string, unknown>>

export const fields = (v: unknown): Fields => (isObject(v) ? v : {})
export const specOf = (o: KubeObject): Fields => fields(o['spec'])
export const statusOf = (o: KubeObject): Fields => fields(o['status'])
export const namesOf = (o: KubeObject): Fields => fields(specOf(o)['names'])
export const listOfFields = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])
export const versionsOf = (o: KubeObject): readonly Fields[] => listOfFields(specOf(o)['versions'])
export const texts = (v: unknown): readonly string[] => (Array.isArray(v) ? v.map(String) : [])
export const word = (v: unknown): string => (typeof v === 'string' ? v : '')

export const schemaOf = (version: Fields): Fields | undefined => {
  const found = fields(version['schema'])['openAPIV3Schema']
  return isObject(found) ? found : undefined
}

export const isEstablished = (o: KubeObject): boolean =>
  listOfFields(statusOf(o)['conditions']).some((c) => c['type'] === 'Established' && c['status'] === 'True')

export const DEFINITIONS = 'apiextensions.k8s.io/customresourcedefinitions'
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io'

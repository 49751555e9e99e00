// Builds the cdk8s construct of a kind. Refuses an object that a server or controller would refuse at the place it is written, with its construct path, so it
// never reaches a manifest.
import { ApiObject, type ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { componentObjectName, configObjectName } from '#lib/names.ts'
import { API_GROUP_VERSION, type ApiKind } from '../kind.ts'
import { createValidator, invalidObject } from '../validate.ts'
import { plainJsonOf } from './plain-json.ts'

export interface ObjectProps<SpecIn> {
  /** The name defaults to the construct's id, or follows from the spec where the kind requires that. */
  readonly metadata?: ApiObjectMetadata
  readonly spec: SpecIn
}

export type ObjectConstruct<SpecIn> = new (scope: Construct, id: string, props: ObjectProps<SpecIn>) => ApiObject

const validator = createValidator()

export function constructOf<Kind extends string, Spec, SpecIn, Status>(
  kind: ApiKind<Kind, Spec, SpecIn, Status>,
): ObjectConstruct<SpecIn> {
  const made = class extends ApiObject {
    constructor(scope: Construct, id: string, { metadata, spec }: ObjectProps<SpecIn>) {
      const name = metadata?.name ?? impliedName(kind.kind, spec) ?? id
      super(scope, id, { apiVersion: API_GROUP_VERSION, kind: kind.kind, metadata: { ...metadata, name }, spec })
      const object = this.toJson()
      const problems = validator.problems(kind, object)
      if (problems.length > 0) throw invalidObject(kind, object, problems, this.node.path)
    }

    /** A chart passes its namespace to everything in it; cluster-scoped objects have none. */
    override toJson(): unknown {
      const { metadata, ...object } = (plainJsonOf(this) ?? super.toJson()) as {
        readonly metadata: Readonly<Record<string, unknown>>
      }
      if (kind.namespaced) return { ...object, metadata }
      const { namespace: _, ...rest } = metadata
      return { ...object, metadata: rest }
    }
  }
  Object.defineProperty(made, 'name', { value: kind.kind })
  return made
}

/** Names derived from the content, so that users need not write them. */
function impliedName(kind: string, spec: unknown): string | undefined {
  const { component, version, digest } = spec as Readonly<Record<string, unknown>>
  if (kind === 'MachineComponent') return componentObjectName(String(component), String(version))
  if (kind === 'ComponentConfig') return configObjectName(String(component), String(digest))
  return undefined
}

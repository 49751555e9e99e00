// Makes the cdk8s construct of a kind. An object that a server or a controller would refuse is refused where it is written, with the
// place in the construct tree, and never reaches a manifest.
import { ApiObject, type ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { componentObjectName, configObjectName } from '#lib/names.ts'
import { API_GROUP_VERSION, type ApiKind } from '../kind.ts'
import { createValidator, invalidObject } from '../validate.ts'
import { plainJsonOf } from './plain-json.ts'

export interface ObjectProps<SpecIn> {
  /** The name is the id of the construct unless it is given, or follows from the spec where the kind demands that. */
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

    /** A chart gives its namespace to all that is in it; objects of the whole cluster have none. */
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

/** Names that follow from the content, so that users need not write them. */
function impliedName(kind: string, spec: unknown): string | undefined {
  const { component, version, digest } = spec as Readonly<Record<string, unknown>>
  if (kind === 'MachineComponent') return componentObjectName(String(component), String(version))
  if (kind === 'ComponentConfig') return configObjectName(String(component), String(digest))
  return undefined
}

// Refuses what a kind declares and no part of KubeNode acts on yet. What is stored already may stay: such an object can be changed elsewhere, finalized and deleted.
import { API_GROUP, type ApiKind } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import { EACH, unservedFields, type UnservedField } from '#api/unserved.ts'
import { any, quoted, type AdmissionPolicy } from './policy.ts'

/** Holds when nothing at the path has an effect that is missing. */
function isAbsent(value: string, path: readonly string[], values: readonly string[] | undefined, depth = 0): string {
  const [name, ...rest] = path
  if (name === undefined) return values === undefined ? 'false' : `!(${value} in [${values.map(quoted).join(', ')}])`
  if (name === EACH) {
    const item = `i${depth}`
    return `${value}.all(${item}, ${isAbsent(item, rest, values, depth + 1)})`
  }
  const field = `${value}.${name}`
  return any(`!has(${field})`, isAbsent(field, rest, values, depth))
}

function validationOf({ path, values, reason }: UnservedField): AdmissionPolicy['validations'][number] {
  const [spec = '', top] = path
  const before = top === undefined ? `oldObject.${spec}` : `oldObject.${spec}.?${top}`
  const now = top === undefined ? `object.${spec}` : `object.${spec}.?${top}`
  const what = values === undefined ? '' : ` ${values.join(', ')}`
  return {
    expression: any(`oldObject != null && ${before} == ${now}`, isAbsent('object', path, values)),
    message: `${path.join('.').replaceAll(`.${EACH}`, EACH)}${what} is not served yet: ${reason}`,
    reason: 'Invalid',
  }
}

const policyOf = (kind: ApiKind): AdmissionPolicy => ({
  name: `kubenode-not-served-${kind.plural}`,
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [kind.plural] }],
  matchConditions: [],
  variables: [],
  validations: unservedFields(kind).map(validationOf),
})

export const unservedPolicies: readonly AdmissionPolicy[] = KINDS.filter((k) => unservedFields(k).length > 0).map(
  policyOf,
)

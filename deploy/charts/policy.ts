// What an admission policy is, and the few forms of CEL that all of them are written in.

export interface AdmissionRule {
  readonly apiGroups: readonly string[]
  readonly apiVersions: readonly string[]
  readonly operations: readonly string[]
  readonly resources: readonly string[]
}

export interface Named {
  readonly name: string
  readonly expression: string
}

export interface AdmissionPolicy {
  readonly name: string
  readonly rules: readonly AdmissionRule[]
  readonly matchConditions: readonly Named[]
  readonly variables: readonly Named[]
  readonly validations: readonly { readonly expression: string; readonly message: string }[]
}

export const quoted = (text: string): string => `'${text}'`
export const inGroup = (group: string): string => `${quoted(group)} in request.userInfo.groups`
export const any = (...expressions: readonly string[]): string => expressions.map((e) => `(${e})`).join(' || ')
export const all = (...expressions: readonly string[]): string => expressions.map((e) => `(${e})`).join(' && ')

/** A value of `metadata`, with nothing for what is not there. */
export const valueOf = (object: 'object' | 'oldObject', field: 'annotations' | 'labels', key: string): string => {
  const map = `${object}.metadata.?${field}.orValue({})`
  const value = `${quoted(key)} in ${map} ? ${map}[${quoted(key)}] : ''`
  return `(${object} == null ? '' : (${value}))`
}

/** The request leaves out what is empty. */
export const part = (field: 'subResource' | 'namespace'): string => `has(request.${field}) ? request.${field} : ''`
export const isResource = (group: string, resource: string, subresource = ''): string =>
  all(
    `request.resource.group == ${quoted(group)}`,
    `request.resource.resource == ${quoted(resource)}`,
    `variables.sub == ${quoted(subresource)}`,
  )
export const operations = (...verbs: readonly string[]): string =>
  `request.operation in [${verbs.map(quoted).join(', ')}]`

// The formats of names, and their problems in a kube-apiserver's words.

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const LABEL_1035_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const QUALIFIED_SHAPE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const LABEL_VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

const atMost = (n: number): string => `must be no more than ${n} characters`

export function subdomainProblems(name: string): readonly string[] {
  return [...(name.length > 253 ? [atMost(253)] : []), ...(SUBDOMAIN.test(name) ? [] : [SUBDOMAIN_TEXT])]
}

export function labelNameProblems(name: string): readonly string[] {
  return [...(name.length > 63 ? [atMost(63)] : []), ...(LABEL.test(name) ? [] : [LABEL_TEXT])]
}

export function label1035Problems(name: string): readonly string[] {
  return [...(name.length > 63 ? [atMost(63)] : []), ...(LABEL_1035.test(name) ? [] : [LABEL_1035_TEXT])]
}

/** Keys of labels and annotations, finalizers, taints: an optional subdomain, a slash, a name. */
export function qualifiedNameProblems(key: string, what = 'a qualified name'): readonly string[] {
  const parts = key.split('/')
  const out: string[] = []
  let name = key
  if (parts.length === 2) {
    const [prefix = '', rest = ''] = parts
    name = rest
    if (prefix === '') out.push('prefix part must be non-empty')
    else out.push(...subdomainProblems(prefix).map((p) => `prefix part ${p}`))
  } else if (parts.length > 2) {
    return [`${what} ${QUALIFIED_SHAPE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  if (name === '') out.push('name part must be non-empty')
  else if (name.length > 63) out.push('name part must be no more than 63 bytes')
  if (!QUALIFIED.test(name)) out.push(`name part ${QUALIFIED_SHAPE}`)
  return out
}

export function labelValueProblems(value: string): readonly string[] {
  return [
    ...(value.length > 63 ? ['must be no more than 63 bytes'] : []),
    ...(LABEL_VALUE.test(value) ? [] : [LABEL_VALUE_TEXT]),
  ]
}

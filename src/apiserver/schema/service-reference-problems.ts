// What is wrong with the Service that a webhook names, in the words of a kube-apiserver. Each part of its path must be a DNS subdomain: no capitals, no "_".
import { invalid, required, type FieldError } from './field-error.ts'
import { subdomainProblems } from '#api/schema/name-problems.ts'

interface ServiceReference {
  readonly namespace?: unknown
  readonly name?: unknown
  readonly path?: unknown
  readonly port?: unknown
}

const MAX_PORT = 65_535

export function serviceReferenceProblems(
  { namespace, name, path, port = 443 }: ServiceReference,
  at: string,
): readonly FieldError[] {
  const out: FieldError[] = []
  if (typeof name !== 'string' || name === '') out.push(required(`${at}.name`))
  if (typeof namespace !== 'string' || namespace === '') out.push(required(`${at}.namespace`))
  if (typeof port !== 'number' || port < 1 || port > MAX_PORT)
    out.push(invalid(`${at}.port`, port, `port is not valid: must be between 1 and ${MAX_PORT}, inclusive`))
  return typeof path === 'string' ? [...out, ...pathProblems(path, `${at}.path`)] : out
}

function pathProblems(path: string, at: string): readonly FieldError[] {
  if (path === '' || path === '/') return []
  if (path === '//') return [invalid(at, path, 'segment[0] may not be empty')]
  const out = path.startsWith('/') ? [] : [invalid(at, path, "must start with a '/'")]
  // The server leaves out the first character whatever it is.
  for (const [i, part] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (part === '') out.push(invalid(at, path, `segment[${i}] may not be empty`))
    else out.push(...subdomainProblems(part).map((p) => invalid(at, path, `segment[${i}]: ${p}`)))
  }
  return out
}

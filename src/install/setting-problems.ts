// Explains bad settings to the user who typed them: by flag or by name in the file, with the value found, what is allowed and how to get it.
import { PROBLEM_CODES, type Problem } from '#api/problem.ts'

const FLAGS: Readonly<Record<string, string>> = {
  '/cluster': '--cluster NAME',
  '/roles': '--roles hub,business',
  '/image': '--image NAME@sha256:…',
  '/registry': '--registry PREFIX',
  '/replicas': '--replicas COUNT',
}

const HINTS: Readonly<Record<string, string>> = {
  '/image':
    'kubenode image push prints the reference by digest; skopeo inspect --format "{{.Digest}}" docker://IMAGE prints the digest of an image in a registry',
  '/apiServer':
    'write apiServer: { url: https://HOST:6443 }, the address under which hosts reach the API server; a hub without nodes has roles: [hub]',
  '/artifacts':
    'hosts download components and the agent from there; docs/operations/install.md shows how under Artifacts and agents',
}

/** JSON Schema's type names. */
const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'a map',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  string: 'text',
}

const MOST_PROBLEMS = 5
/** A longer list of names does not fit on a line. */
const MAX_ALLOWED_CHARS = 160

/** As in the file: tolerations[0].key. */
export const settingName = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i === 0 ? part : `.${part}`))
    .join('')

function settingProblem({ code, pointer, message, seen: found, allowed, suggestion }: Problem): string {
  const flag = FLAGS[pointer]
  const what =
    code === PROBLEM_CODES.missing ? 'is missing' : code === PROBLEM_CODES.unknownField ? 'is not a setting' : message
  const hint = HINTS[pointer]
  return [
    settingName(pointer) || 'the file',
    what,
    ...(found !== undefined && code !== PROBLEM_CODES.missing ? [`(found ${found})`] : []),
    ...aside([
      ...(flag !== undefined && code === PROBLEM_CODES.missing ? [`give ${flag}`] : []),
      ...(suggestion !== undefined
        ? [`did you mean ${suggestion}?`]
        : allowed !== undefined && allowed.length <= MAX_ALLOWED_CHARS
          ? [`allowed: ${TYPES[allowed] ?? allowed}`]
          : []),
      ...(hint === undefined ? [] : [hint]),
    ]),
  ].join(' ')
}

const aside = (parts: readonly string[]): readonly string[] => (parts.length === 0 ? [] : [`[${parts.join('; ')}]`])

export function settingProblems(problems: readonly Problem[]): string {
  const more = problems.length - MOST_PROBLEMS
  const lines = problems.slice(0, MOST_PROBLEMS).map(settingProblem)
  return [...lines, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

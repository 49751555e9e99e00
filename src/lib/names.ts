// Object names derived from other names. Every function is total and maps different inputs to different names: the readable form is a reversible escape code,
// and only what does not fit becomes a SHA-256.
import { withoutEnd } from './without-ends.ts'
import { sha256Hex } from './sha256.ts'
import { hex } from './go-format.ts'

export const COMPONENT_NAME_PATTERN = '^[a-z]([-a-z0-9]*[a-z0-9])?$'
export const COMPONENT_VERSION_PATTERN = '^[A-Za-z0-9][A-Za-z0-9.+:~_-]*$'

/** RFC 1123 subdomain. */
export const MAX_OBJECT_NAME = 253

const isPlain = (c: string): boolean => (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
const isJoint = (c: string | undefined): boolean => c === undefined || c === '.' || c === '-'

// A single "-" or "." may only appear between two other characters. So "--" always marks an escape, and the letter before it gives its type: e--2b a character
// below 128, u--00e9 any other, o--o empty, h--… a hash.
function escape(text: string, joints: string): string {
  if (text === '') return 'o--o'
  let out = ''
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i)
    const code = text.charCodeAt(i)
    if (isPlain(c)) out += c
    else if (joints.includes(c) && !isJoint(text[i - 1]) && !isJoint(text[i + 1])) out += c
    else out += code < 128 ? `e--${hex(code, 2)}` : `u--${hex(code, 4)}`
  }
  return out
}

/** The MachineComponent's name for this component and version: `kubelet.1.34.2`, `agent.2.0.0e--2bg1`. */
export function componentObjectName(component: string, version: string): string {
  // The first part never contains a dot, so the first dot ends it.
  const name = `${escape(component, '-')}.${escape(version, '.-')}`
  if (name.length <= MAX_OBJECT_NAME) return name
  const head = withoutEnd(name.slice(0, 160), /[-.]/)
  return `${head}.h--${sha256Hex(JSON.stringify([component, version]))}`
}

/** The name of the ComponentConfig with these values; `digest` is the SHA-256 of their canonical JSON. */
export const configObjectName = (component: string, digest: string): string =>
  componentObjectName(component, digest.slice(0, 40))

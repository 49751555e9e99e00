// Every field and list that a constraint at the root speaks of must be declared outside of constraints too (deeper ones the server lets pass).
import { childPath, keyPath, required, type FieldError } from './field-error.ts'
import { nested, nestedList, properties, property, type Raw } from './structural-raw.ts'

export function missingCounterparts(schema: Raw, path: string, out: FieldError[]): void {
  combined(schema, schema, path, path, out)
}

/** `s` is where the constraint `v` must find its fields; both with their paths. */
function combined(v: Raw, s: Raw, sPath: string, vPath: string, out: FieldError[]): void {
  const not = nested(v, 'not')
  if (not) constrained(not, s, sPath, childPath(vPath, 'not'), out)
  for (const key of ['allOf', 'anyOf', 'oneOf'])
    nestedList(v, key).forEach((sub, i) => constrained(sub, s, sPath, keyPath(childPath(vPath, key), i), out))
}

function constrained(v: Raw, s: Raw | undefined, sPath: string, vPath: string, out: FieldError[]): void {
  if (!s) {
    out.push(required(sPath, `because it is defined in ${vPath}`))
    return
  }
  combined(v, s, sPath, vPath, out)
  const items = nested(v, 'items')
  if (items) constrained(items, nested(s, 'items'), childPath(sPath, 'items'), childPath(vPath, 'items'), out)
  for (const [name, sub] of properties(v)) {
    const at = (path: string) => keyPath(childPath(path, 'properties'), name)
    constrained(sub, property(s, name), at(sPath), at(vPath), out)
  }
}

// The result of a Defender gate: what was observed, the limit, and the policy that sets it. Pure.

interface Verdict {
  readonly seen?: string
  readonly limit?: string
  readonly policy?: string
}

export function verdictNote({ seen = 'waiting', limit = '', policy }: Verdict): string {
  const at = limit === '' ? '' : /^\d/.test(limit) ? `, limit ${limit}` : `; ${limit}`
  const isNamed = policy === undefined || `${seen} `.includes(`policy ${policy} `)
  return `${seen}${at}${isNamed ? '' : ` (policy ${policy})`}`
}

// The plural of a kind or noun, as in resource names: policies of policy, sets of set.

export const pluralOf = (noun: string): string => (noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`)

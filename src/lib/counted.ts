// A count with its noun in singular or plural, for messages.

/** `counted(1, 'machine')` is "1 machine". The verb can agree too: `counted(2, 'machine is', 'machines are')`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

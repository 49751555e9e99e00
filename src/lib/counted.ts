// A number with its noun, in the singular where it is one: messages are read by people.

/** `counted(1, 'machine')` is "1 machine". What follows agrees with it: `counted(2, 'machine is', 'machines are')`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

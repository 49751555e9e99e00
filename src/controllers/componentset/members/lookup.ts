// How a decision finds an object by name.

export interface Lookup<T> {
  get(name: string): T | undefined
}

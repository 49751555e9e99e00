// What a decision needs of a collection of objects: one by its name.

export interface Lookup<T> {
  get(name: string): T | undefined
}

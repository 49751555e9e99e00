// The names of the recipes, for help and completion: what they contain is loaded only when one is used.
export const RECIPE_NAMES = ['kubelet', 'containerd', 'runc', 'cni-plugins', 'node-exporter', 'chrony'] as const
export type RecipeName = (typeof RECIPE_NAMES)[number]

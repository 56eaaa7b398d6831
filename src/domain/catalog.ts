import type { JsonObject, JsonValue } from './json.ts';

/** A public catalog entry, exactly in the shape of the specification (§2.1–2.3). */
export interface Model {
  id: string;
  object: 'model';
  type: 'image' | 'video' | 'chat';
  owned_by: string;
  display_name: string;
  group: string;
  capability: string;
  description: string | null;
  status: string;
  pricing: Pricing;
  parameters: Parameters;
  catalogVisible?: boolean;
}

export interface Pricing {
  unit: 'request' | 'tokens';
  credits_per_request: number;
  credits_per_1k_input_tokens: number;
  credits_per_1k_output_tokens: number;
  min_credits_per_request: number;
}

export interface PricingRule {
  match: { key: string; value: string | number };
  credits: number;
}

export interface FieldDescriptor {
  key: string;
  label: string;
  type: 'enum' | 'number' | 'boolean';
  options?: (string | number)[];
  min?: number;
  max?: number;
  step?: number;
  default?: string | number | boolean;
  description?: string;
}

/** The flags, allowed-value arrays, rules, descriptors and examples of §2.3; a vendor's variant list under its own name. */
export interface Parameters {
  prompt?: boolean;
  image?: boolean;
  video_url?: boolean;
  audio_url?: boolean;
  reference_images?: boolean;
  negative_prompt?: boolean;
  messages?: boolean;
  stream?: boolean;
  temperature?: boolean;
  max_tokens?: boolean;
  variants?: boolean;
  generate_audio?: boolean;
  img_size?: string[];
  aspect_ratio?: string[];
  duration?: number[];
  resolution?: string[];
  pricingRules?: PricingRule[];
  fields?: FieldDescriptor[];
  examples?: { label: string; values: JsonObject }[];
  /** The vendor's variant list (named by `ModelPrivate.variant_field`). */
  [vendorVariantList: string]: unknown;
}

/** How one adapter family is asked for a model: its own name, and our parameters in its words. */
export interface UpstreamMapping {
  model: string;
  /** Where the provider sells a variant under its own model name: the parameter that decides, and the names by its value. */
  model_by?: { key: string; values: Record<string, string> };
  /**
   * Where the provider has an endpoint of its own for each kind of input: what is appended to the model's name, by the input
   * that is given (`none` for a prompt alone). Of several the one named first here decides: video_url, reference_images, image.
   */
  path_by_input?: Partial<Record<'video_url' | 'reference_images' | 'image' | 'none', string>>;
  /** What one successful job costs us, for the margin. */
  cost_micro_usd: number;
  /** What 1,000 tokens cost us, for chat models. */
  token_cost_micro_usd?: { input_per_1k: number; output_per_1k: number };
  /**
   * Our parameter key → the provider's. A key that is not listed is sent under its own name with its own value; `null` is
   * not sent. `values` translates single values (keys are our values as strings; a value that becomes `null` is not sent).
   */
  parameters: Record<string, { name: string; values?: Record<string, JsonValue> } | null>;
  /** The values that this family can make, by parameter; a task that asks for another one goes to the other families. */
  only?: Record<string, (string | number | boolean)[]>;
  /** The provider's own names of the media inputs, for families whose models each have their own. */
  inputs?: Partial<Record<'image' | 'reference_images' | 'video_url' | 'audio_url', string>>;
}

/** What the public does not see of a model. */
export interface ModelPrivate {
  /** False hides the model from the listing and from use. */
  public: boolean;
  /** Channel groups that may serve the model. */
  groups: string[];
  /** The request field (and `parameters` key) that carries the vendor's variants; catalog data, never hard-coded. */
  variant_field: string | null;
  /** Most reference images accepted; 0 where none are. */
  reference_images_max: number;
  /** Tokens that one image in a chat message counts for in the hold. */
  image_tokens: number;
  /** Tokens of context, for chat models. */
  context_tokens: number | null;
  /** Legacy names of this model with preset parameters; they work on legacy routes only. */
  aliases: Record<string, JsonObject>;
  /** By adapter family. */
  upstream: Record<string, UpstreamMapping>;
}

export interface CatalogEntry {
  model: Model;
  private: ModelPrivate;
}

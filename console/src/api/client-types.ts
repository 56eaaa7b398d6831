// Written by `npm run docs:api` from the OpenAPI document.
export interface paths {
  '/api/v1/models': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the models
     * @description Active models that the key may use, with their types, prices and parameters. `Accept-Encoding` may name `br`, `zstd` or `gzip`.
     *
     *     Needs a key with the scope `chat` or `media` or `read`.
     */
    get: operations['get_api_v1_models'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/images/generate': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Create a picture
     * @description Answers as soon as the task is accepted. Poll the task at `Location`, or give a `callback_url`.
     *
     *     The price follows from the parameters, is shown as `credits.quoted`, and never rises. The credits of a task that does not succeed are refunded.
     *
     *     Choose a `model`: the fields depend on it.
     *
     *     Needs a key with the scope `media`.
     */
    post: operations['post_api_v1_images_generate'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/images/upload': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Upload a picture
     * @description One JPEG, PNG or WebP picture of up to 10 MB and 40 million pixels. It costs nothing, and `expires_at` says how long it is kept (24 hours by default). Use its `file_…` id as an input of a task.
     *
     *     Needs a key with the scope `media`.
     */
    post: operations['post_api_v1_images_upload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/video/generate': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Create a video
     * @description Answers as soon as the task is accepted. Poll the task at `Location`, or give a `callback_url`.
     *
     *     The price follows from the parameters, is shown as `credits.quoted`, and never rises. The credits of a task that does not succeed are refunded.
     *
     *     Choose a `model`: the fields depend on it.
     *
     *     Needs a key with the scope `media`.
     */
    post: operations['post_api_v1_video_generate'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/tasks/{task_id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a task
     * @description Poll until `status` is `succeeded`, `failed` or `canceled`, or `wait` for it.
     *
     *     Needs a key with the scope `media` or `read`.
     */
    get: operations['get_api_v1_tasks_task_id'];
    put?: never;
    post?: never;
    /**
     * Delete a task
     * @description Of a task that has ended: erases its input, results, files, metadata and callback. What it cost stays in the ledger. The task is 404 from then on.
     *
     *     Needs a key with the scope `media`.
     */
    delete: operations['delete_api_v1_tasks_task_id'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    DeletedTask: {
      task_id: string;
      /** @constant */
      object: 'task';
      /** @constant */
      deleted: true;
    };
    Model: {
      id: string;
      /** @constant */
      object: 'model';
      /** @enum {string} */
      type: 'image' | 'video' | 'chat';
      owned_by: string;
      display_name: string;
      group: string;
      capability: string;
      description: string | null;
      status: string;
      pricing: {
        /** @enum {string} */
        unit: 'request' | 'tokens';
        credits_per_request: number;
        credits_per_1k_input_tokens: number;
        credits_per_1k_output_tokens: number;
        min_credits_per_request: number;
        credits_per_1k_cached_input_tokens?: number;
        credits_per_1k_cache_write_tokens?: number;
        credits_per_1k_cache_write_1h_tokens?: number;
        credits_per_1k_reasoning_tokens?: number;
        long_input?: {
          above_tokens: number;
          credits_per_1k_input_tokens?: number;
          credits_per_1k_output_tokens?: number;
          credits_per_1k_cached_input_tokens?: number;
          credits_per_1k_cache_write_tokens?: number;
          credits_per_1k_cache_write_1h_tokens?: number;
          credits_per_1k_reasoning_tokens?: number;
        };
      };
      parameters: {
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
        pricingRules?: {
          match: {
            /** @enum {string} */
            key: 'img_size' | 'duration';
            value: string | number;
            all?: {
              key: string;
              value: string | number | boolean;
            }[];
          };
          credits: number;
        }[];
        fields?: {
          key: string;
          label: string;
          /** @enum {string} */
          type: 'enum' | 'number' | 'boolean';
          options?: (string | number)[];
          min?: number;
          max?: number;
          step?: number;
          default?: string | number | boolean;
          description?: string;
        }[];
        examples?: {
          label: string;
          values: {
            [key: string]: unknown;
          };
        }[];
      } & {
        [key: string]: unknown;
      };
      catalogVisible?: boolean;
    };
    ModelList: {
      /** @constant */
      object: 'list';
      data: components['schemas']['Model'][];
    };
    Quote: {
      /** @constant */
      object: 'quote';
      model: string;
      /** @enum {string} */
      type: 'image' | 'video';
      /** @description The request as it would be priced and sent, defaults included. */
      input: {
        [key: string]: unknown;
      };
      credits: {
        quoted: number;
      };
      balance: {
        /** @description The credits of the project that nothing holds. */
        available: number;
        /** @description Whether they and the budget of the key cover the task now. */
        sufficient: boolean;
      };
    };
    Task: {
      task_id: string;
      /** @constant */
      object: 'task';
      /** @enum {string} */
      type: 'image' | 'video';
      model: string;
      /**
       * @description The last three are final. An ended task never changes again.
       * @enum {string}
       */
      status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
      /** @description Percent, as far as the provider tells. */
      progress: number | null;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      started_at: number | null;
      completed_at: number | null;
      /** @description When the results are deleted. Unix seconds. */
      expires_at: number | null;
      deadline_seconds: number;
      max_credits: number | null;
      metadata: {
        [key: string]: string;
      };
      /** @description The request as it is priced and sent, defaults included. Null once the content was erased. */
      input: {
        [key: string]: unknown;
      } | null;
      output: components['schemas']['TaskOutput'][] | null;
      /** @description Why the task did not succeed. */
      error: {
        /** @enum {string} */
        code:
          | 'upstream_failed'
          | 'upstream_invalid_response'
          | 'upstream_outcome_unknown'
          | 'task_timeout'
          | 'content_policy_violation'
          | 'no_channel_available'
          | 'output_unavailable'
          | 'canceled';
        message: string;
        /** @description Whether the same request may succeed later. */
        retryable: boolean;
      } | null;
      credits: {
        quoted: number;
        reserved: number;
        charged: number;
        refunded: number;
      };
      /** @description The delivery to `callback_url`. Null without one. */
      callback: {
        /** @enum {string} */
        state: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'replaced';
        attempts: number;
        last_status: number | null;
        next_attempt_at: number | null;
      } | null;
      /** @description Calls to providers. */
      attempts: number;
      /** @description The `x-request-id` of the create. */
      request_id: string;
    };
    TaskOutput: {
      /** @description A signed URL, which needs no key. It is valid until `expires_at`. */
      url: string;
      mime_type: string;
      bytes: number;
      width: number | null;
      height: number | null;
      /** @description Seconds. Null for pictures. */
      duration: number | null;
      /** @description Lower-case hexadecimal. */
      sha256: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      expires_at: number;
    };
    UploadedFile: {
      /** @description `file_…`. Use it as an input of a task. */
      id: string;
      /** @constant */
      object: 'file';
      /** @description A signed URL, which needs no key. It is valid until `expires_at`. */
      url: string;
      mime_type: string;
      bytes: number;
      width: number;
      height: number;
      sha256: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      expires_at: number;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type DeletedTask = components['schemas']['DeletedTask'];
export type Model = components['schemas']['Model'];
export type ModelList = components['schemas']['ModelList'];
export type Quote = components['schemas']['Quote'];
export type Task = components['schemas']['Task'];
export type TaskOutput = components['schemas']['TaskOutput'];
export type UploadedFile = components['schemas']['UploadedFile'];
export type $defs = Record<string, never>;
export interface operations {
  get_api_v1_models: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The models. */
      200: {
        headers: {
          /** @description Send it as `If-None-Match`: the answer is 304 until the content changes. */
          ETag: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ModelList'];
        };
      };
      /** @description The client has this version (`If-None-Match`). */
      304: {
        headers: {
          /** @description Send it as `If-None-Match`: the answer is 304 until the content changes. */
          ETag: string;
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  post_api_v1_images_generate: {
    parameters: {
      query?: {
        /** @description Seconds for which the answer is held until the task has ended. */
        wait?: number;
      };
      header?: {
        /** @description 1 to 255 printable ASCII characters. A retry with the same key and body returns the first answer and is not charged again. Kept for 48 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          model: string;
          prompt: string;
          /**
           * Format: uri
           * @description A public https URL. The task is sent to it when it has ended.
           */
          callback_url?: string | null;
          /** @description Texts of your own by name. They are on the task and in its callback, and lists can filter by them. */
          metadata?: {
            [key: string]: string;
          } | null;
          /** @description After this time a task that has not ended fails. If absent, the most. */
          deadline_seconds?: number | null;
          /** @description The most that the task may cost. A dearer request is 402 `max_credits_exceeded`. */
          max_credits?: number | null;
          /** @description Only tell the price: nothing is created. */
          dry_run?: boolean | null;
        };
      };
    };
    responses: {
      /** @description The ended task, with `wait`; the price, for `dry_run`. */
      200: {
        headers: {
          /** @description The path to poll. */
          Location?: string;
          /** @description `true` if this answers an earlier request with the same `Idempotency-Key`. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Task'] | components['schemas']['Quote'];
        };
      };
      /** @description The task of the picture. */
      202: {
        headers: {
          /** @description The path to poll. */
          Location: string;
          /** @description `true` if this answers an earlier request with the same `Idempotency-Key`. */
          'Idempotent-Replayed'?: string;
          /** @description Seconds to wait before the next request, if the answer could not be held for `wait` seconds. */
          'Retry-After'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Task'];
        };
      };
    };
  };
  post_api_v1_images_upload: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'multipart/form-data': {
          /** Format: binary */
          file: string;
        };
        'image/png': string;
        'image/jpeg': string;
        'image/webp': string;
      };
    };
    responses: {
      /** @description The stored picture. */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['UploadedFile'];
        };
      };
    };
  };
  post_api_v1_video_generate: {
    parameters: {
      query?: {
        /** @description Seconds for which the answer is held until the task has ended. */
        wait?: number;
      };
      header?: {
        /** @description 1 to 255 printable ASCII characters. A retry with the same key and body returns the first answer and is not charged again. Kept for 48 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          model: string;
          prompt: string;
          /**
           * Format: uri
           * @description A public https URL. The task is sent to it when it has ended.
           */
          callback_url?: string | null;
          /** @description Texts of your own by name. They are on the task and in its callback, and lists can filter by them. */
          metadata?: {
            [key: string]: string;
          } | null;
          /** @description After this time a task that has not ended fails. If absent, the most. */
          deadline_seconds?: number | null;
          /** @description The most that the task may cost. A dearer request is 402 `max_credits_exceeded`. */
          max_credits?: number | null;
          /** @description Only tell the price: nothing is created. */
          dry_run?: boolean | null;
        };
      };
    };
    responses: {
      /** @description The ended task, with `wait`; the price, for `dry_run`. */
      200: {
        headers: {
          /** @description The path to poll. */
          Location?: string;
          /** @description `true` if this answers an earlier request with the same `Idempotency-Key`. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Task'] | components['schemas']['Quote'];
        };
      };
      /** @description The task of the video. */
      202: {
        headers: {
          /** @description The path to poll. */
          Location: string;
          /** @description `true` if this answers an earlier request with the same `Idempotency-Key`. */
          'Idempotent-Replayed'?: string;
          /** @description Seconds to wait before the next request, if the answer could not be held for `wait` seconds. */
          'Retry-After'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Task'];
        };
      };
    };
  };
  get_api_v1_tasks_task_id: {
    parameters: {
      query?: {
        /** @description Seconds for which the answer is held until the task has ended. */
        wait?: number;
      };
      header?: never;
      path: {
        /** @description The `task_id` of a create. */
        task_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The task. */
      200: {
        headers: {
          /** @description Send it as `If-None-Match`: the answer is 304 until the content changes. */
          ETag: string;
          /** @description Seconds to wait before the next request, if the answer could not be held for `wait` seconds. */
          'Retry-After'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Task'];
        };
      };
      /** @description The client has this version (`If-None-Match`). */
      304: {
        headers: {
          /** @description Send it as `If-None-Match`: the answer is 304 until the content changes. */
          ETag: string;
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  delete_api_v1_tasks_task_id: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The `task_id` of a create. */
        task_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The task is deleted. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeletedTask'];
        };
      };
    };
  };
}

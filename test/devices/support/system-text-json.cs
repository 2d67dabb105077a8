// What the program uses of System.Text.Json, which Mono does not have, over System.Json, which it has.
using System;
using System.Json;
using System.Linq;
using System.Reflection;

namespace System.Text.Json
{
    public enum JsonSerializerDefaults { Web }

    public sealed class JsonSerializerOptions
    {
        public JsonSerializerOptions(JsonSerializerDefaults defaults) { }
    }

    public sealed class JsonException : Exception
    {
        public JsonException(string message) : base(message) { }
    }

    public static class JsonSerializer
    {
        static string NameOf(PropertyInfo property)
        {
            return char.ToLowerInvariant(property.Name[0]) + property.Name.Substring(1);
        }

        public static string Serialize(object value, JsonSerializerOptions options)
        {
            var members = value.GetType().GetProperties().ToDictionary(NameOf, each => ToJson(each.GetValue(value)));
            return new JsonObject(members).ToString();
        }

        static JsonValue ToJson(object value)
        {
            if (value == null) return null;
            if (value is string) return new JsonPrimitive((string)value);
            return value is bool ? new JsonPrimitive((bool)value) : new JsonPrimitive(Convert.ToInt64(value));
        }

        public static T Deserialize<T>(string json, JsonSerializerOptions options)
        {
            JsonObject members;
            try
            {
                members = (JsonObject)JsonValue.Parse(json);
            }
            catch (Exception error)
            {
                throw new JsonException(error.Message);
            }
            var read = Activator.CreateInstance<T>();
            foreach (var property in typeof(T).GetProperties())
            {
                JsonValue value;
                if (!members.TryGetValue(NameOf(property), out value) || value == null) continue;
                var type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;
                property.SetValue(read, type == typeof(string) ? (string)value : Convert.ChangeType((long)value, type));
            }
            return read;
        }
    }
}
